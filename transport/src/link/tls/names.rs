// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names in the certificate that a peer has shown, once it is verified.

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::protocol::certificate::CertificateNames;

/// Maximum number of names of a certificate that are read; further ones are ignored.
const NAMES_MAX: usize = 64;

/// Length of the longest name that is read.
const NAME_BYTES_MAX: usize = 256;

/// Returns the names in the first of these certificates, which is the peer's own; `None` if it has
/// shown none.
pub(in crate::link) fn names(shown: &[CertificateDer<'_>]) -> Option<CertificateNames> {
    let (_, certificate) = X509Certificate::from_der(shown.first()?).ok()?;
    // Bound the number and the length of names.
    let mut names = CertificateNames::default();
    let mut left = NAMES_MAX;
    let mut add = |list: &mut Vec<String>, name: &str| {
        if left > 0 && name.len() <= NAME_BYTES_MAX {
            left -= 1;
            list.push(name.to_owned());
        }
    };
    // Collect the common names.
    for common_name in certificate.subject().iter_common_name() {
        if let Ok(name) = common_name.as_str() {
            add(&mut names.common_names, name);
        }
    }
    // Collect the alternative names that are hosts or URIs.
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    for name in alternatives
        .iter()
        .flat_map(|found| &found.value.general_names)
    {
        match name {
            GeneralName::DNSName(host) => add(&mut names.hosts, host),
            GeneralName::URI(uri) => add(&mut names.uris, uri),
            _ => {}
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    fn made(change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        change(&mut params);
        let key = KeyPair::generate().expect("a key");
        let made = params.self_signed(&key).expect("a certificate");
        made.der().clone()
    }

    #[test]
    fn names_of_all_kinds_are_read() {
        let certificate = made(|params| {
            params.distinguished_name.push(DnType::CommonName, "uplink");
            params
                .distinguished_name
                .push(DnType::OrganizationName, "elsewhere");
            let host = "r7.example".try_into().expect("a name");
            let uri = "spiffe://a/r7".try_into().expect("a name");
            let address = SanType::IpAddress([127, 0, 0, 1].into());
            params.subject_alt_names = vec![SanType::DnsName(host), SanType::URI(uri), address];
        });
        let found = names(std::slice::from_ref(&certificate)).expect("it is there");
        assert_eq!(found.common_names, ["uplink"]);
        assert_eq!(
            (found.hosts, found.uris),
            (
                vec!["r7.example".to_owned()],
                vec!["spiffe://a/r7".to_owned()]
            )
        );
        assert_eq!(names(&[]), None);
        for count in 0..certificate.len() {
            names(&[CertificateDer::from(certificate[..count].to_vec())]);
        }
    }

    #[test]
    fn so_many_names_of_such_a_length_are_read() {
        let certificate = made(|params| {
            let mut names: Vec<String> = (0..100).map(|number| format!("h{number}")).collect();
            names.insert(0, "long".repeat(65));
            let hosts = names
                .into_iter()
                .map(|name| name.try_into().expect("a name"));
            params.subject_alt_names = hosts.map(SanType::DnsName).collect();
            params.distinguished_name = rcgen::DistinguishedName::new();
        });
        let found = names(&[certificate]).expect("it is there");
        assert_eq!(
            (found.hosts.len(), found.hosts[0].as_str()),
            (NAMES_MAX, "h0")
        );
    }
}
