// SPDX-License-Identifier: MIT OR Apache-2.0
//! Certificates for trying encrypted links.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

/// Validity of the certificates in days.
pub const DAYS: u32 = 365;

/// A certificate and its key, in PEM form.
pub struct Certificate {
    /// Stem of the names of its files: `ca`, `server` or `client`.
    pub name: &'static str,
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// Makes an authority and the certificates it signs: one for a node that listens and is reached as
/// one of `hosts`, and one for a node that connects. Valid from an hour ago on, as clocks differ.
///
/// # Errors
/// One of the hosts can be in no certificate; the text has the reason.
pub fn make(hosts: &[String]) -> Result<[Certificate; 3], String> {
    make_all(hosts).map_err(|error| error.to_string())
}

fn make_all(hosts: &[String]) -> Result<[Certificate; 3], rcgen::Error> {
    // The authority signs itself.
    let mut params = valid(CertificateParams::new(Vec::new())?, "Zonda trial authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate()?;
    let authority = Certificate {
        name: "ca",
        certificate: params.self_signed(&key)?.pem(),
        key: key.serialize_pem(),
    };
    // It signs the certificates of both ends.
    let issuer = Issuer::new(params, key);
    let sign = |name, hosts: &[String], purpose| {
        let common_name = hosts.first().map_or(name, String::as_str);
        let mut params = valid(CertificateParams::new(hosts)?, common_name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate()?;
        Ok::<_, rcgen::Error>(Certificate {
            name,
            certificate: params.signed_by(&key, &issuer)?.pem(),
            key: key.serialize_pem(),
        })
    };
    let server = sign("server", hosts, ExtendedKeyUsagePurpose::ServerAuth)?;
    let client = sign("client", &[], ExtendedKeyUsagePurpose::ClientAuth)?;
    Ok([authority, server, client])
}

fn valid(mut params: CertificateParams, common_name: &str) -> CertificateParams {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - Duration::hours(1);
    params.not_after = now + Duration::days(DAYS.into());
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params
}
