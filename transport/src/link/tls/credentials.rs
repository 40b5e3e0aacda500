// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys and certificates: loaded from the places in the settings, converted to configurations of
//! TLS, and reloaded when files change.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
#[cfg(feature = "tls-aws-lc")]
use rustls::crypto::aws_lc_rs as ciphers;
#[cfg(not(feature = "tls-aws-lc"))]
use rustls::crypto::ring as ciphers;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore,
    ServerConfig, SignatureScheme, SupportedProtocolVersion, version,
};

use super::super::{EndpointProblem, EndpointUse, IoFailure, Pem, TlsSettings};
use super::validity::{concern, span};

/// Minimum interval between two checks for changes of files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Returns the ciphers, chosen by this crate's features and by no other part of the program.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ciphers::default_provider())
}

/// Returns the versions 1.2 and 1.3; only 1.3 where both ends show certificates, as in the
/// reference, and within QUIC.
fn versions(settings: &TlsSettings, is_quic: bool) -> &'static [&'static SupportedProtocolVersion] {
    const NEW: &[&SupportedProtocolVersion] = &[&version::TLS13];
    const BOTH: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
    match settings.enable_mtls {
        _ if is_quic => NEW,
        Some(true) => NEW,
        _ => BOTH,
    }
}

/// Setting that names a piece, for error texts.
#[derive(Clone, Copy)]
struct CredentialSetting<'a> {
    setting: &'static str,
    pem: &'a Option<Pem>,
}

impl<'a> CredentialSetting<'a> {
    fn new(setting: &'static str, pem: &'a Option<Pem>) -> Self {
        CredentialSetting { setting, pem }
    }

    fn problem(&self, problem: impl Into<String>) -> EndpointProblem {
        let place = match self.pem {
            Some(Pem::File(path)) => format!(" {path}"),
            _ => String::new(),
        };
        EndpointProblem::Credentials {
            setting: self.setting,
            place,
            problem: problem.into(),
        }
    }

    fn text(&self) -> Result<Vec<u8>, EndpointProblem> {
        match self.pem {
            None => Err(self.problem("is needed for TLS and not there; set it")),
            Some(Pem::Text(text)) => Ok(text.clone().into_bytes()),
            Some(Pem::Base64(text)) => {
                // The padding at the end of an endpoint was parsed as the end of a list.
                let padded = text.trim_end_matches('=');
                let padding = "=".repeat((4 - padded.len() % 4) % 4);
                let decoded = STANDARD.decode(format!("{padded}{padding}"));
                decoded.map_err(|error| self.problem(format!("is no base64: {error}")))
            }
            Some(Pem::File(path)) => std::fs::read(path).map_err(|error| {
                self.problem(format!("cannot be read: {}", IoFailure::from(error)))
            }),
        }
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, EndpointProblem> {
        let text = self.text()?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        match found {
            Ok(found) if !found.is_empty() => Ok(found),
            Ok(_) => Err(self.problem(
                "has no certificate in it; a PEM file has one in -----BEGIN CERTIFICATE-----",
            )),
            Err(error) => Err(self.problem(format!("is no PEM: {}", pem_problem(&error)))),
        }
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, EndpointProblem> {
        let text = self.text()?;
        PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
            let is_encrypted = text.windows(9).any(|part| part == b"ENCRYPTED");
            self.problem(match is_encrypted {
                true => "is an encrypted key, which is not supported; decrypt it first".to_owned(),
                false => format!("has no private key in it: {}", pem_problem(&error)),
            })
        })
    }

    fn authorities(&self) -> Result<RootCertStore, EndpointProblem> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates()? {
            let added = roots.add(certificate);
            added.map_err(|error| {
                self.problem(format!("has a certificate that is no authority: {error}"))
            })?;
        }
        Ok(roots)
    }
}

/// Parameters of the handshake within QUIC.
#[derive(Debug)]
pub(in crate::link) struct QuicHandshakeParameters {
    /// Names of the protocols within QUIC.
    pub alpn: Vec<Vec<u8>>,
    /// Note of the fault in the peer's certificate: QUIC itself only has a text.
    pub noted: CertificateFault,
}

/// Fault in a peer's certificate. Clones share the note.
#[derive(Debug, Clone, Default)]
pub(in crate::link) struct CertificateFault(Arc<Mutex<Option<rustls::Error>>>);

impl CertificateFault {
    /// Returns the note.
    #[cfg_attr(not(feature = "quic"), allow(dead_code, reason = "TLS says it itself"))]
    pub(in crate::link) fn take(&self) -> Option<rustls::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(&self, error: &rustls::Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
    }
}

/// Returns the fault in a text in PEM, as a clause.
fn pem_problem(error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => "no section of that kind is in it".to_owned(),
        pem::Error::MissingSectionEnd { end_marker } => {
            let marker = String::from_utf8_lossy(end_marker);
            format!("it ends before -----END {marker}-----")
        }
        pem::Error::IllegalSectionStart { .. } => {
            "a line with -----BEGIN does not end in -----".to_owned()
        }
        other => other.to_string(),
    }
}

/// Returns the configuration with which this node connects.
pub(in crate::link) fn client(
    settings: &TlsSettings,
    within: Option<QuicHandshakeParameters>,
) -> Result<ClientConfig, EndpointProblem> {
    // Load the trusted authorities.
    let authorities = CredentialSetting::new("root_ca_certificate", &settings.root_ca_certificate);
    let roots = match authorities.pem {
        Some(_) => authorities.authorities()?,
        None => RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    };
    let roots = Arc::new(roots);
    // Choose the verifier of the peer's certificate.
    let provider = provider();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(versions(settings, within.is_some()));
    let builder = builder.map_err(|error| authorities.problem(error.to_string()))?;
    let verifier: Arc<dyn ServerCertVerifier> = match settings.verify_name_on_connect {
        Some(false) => Arc::new(AnyName {
            roots,
            algorithms: provider.signature_verification_algorithms,
        }),
        _ => {
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            verifier.map_err(|error| authorities.problem(error.to_string()))?
        }
    };
    let noted = within.as_ref().map(|within| within.noted.clone());
    let verifier = FaultRecorder { verifier, noted };
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    // Load the own certificate, if both ends show one.
    let mut config = match settings.enable_mtls {
        Some(true) => {
            let certificate =
                CredentialSetting::new("connect_certificate", &settings.connect_certificate);
            let key = CredentialSetting::new("connect_private_key", &settings.connect_private_key);
            let config = builder.with_client_auth_cert(certificate.certificates()?, key.key()?);
            config.map_err(|error| key.problem(does_not_fit(&error, "connect_certificate")))?
        }
        _ => builder.with_no_client_auth(),
    };
    // Sessions of earlier connections are not resumed.
    config.resumption = Resumption::disabled();
    config.alpn_protocols = within.map_or(Vec::new(), |within| within.alpn);
    Ok(config)
}

/// Reads the keys and certificates that this node would listen or connect with. Returns a concern
/// about the certificate that it shows.
pub(in crate::link) fn examine(
    settings: &TlsSettings,
    purpose: EndpointUse,
) -> Result<Option<String>, EndpointProblem> {
    match purpose {
        EndpointUse::Listen => server(settings, &[]).map(|(_, concern)| concern),
        EndpointUse::Connect => client(settings, None).map(|_| None),
    }
}

/// Returns the configuration of a listener, within QUIC for peers that speak one of `alpn`, and a
/// concern about its certificate.
fn server(
    settings: &TlsSettings,
    alpn: &[Vec<u8>],
) -> Result<(ServerConfig, Option<String>), EndpointProblem> {
    let certificate = CredentialSetting::new("listen_certificate", &settings.listen_certificate);
    let key = CredentialSetting::new("listen_private_key", &settings.listen_private_key);
    let provider = provider();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(versions(settings, !alpn.is_empty()));
    let builder = builder.map_err(|error| certificate.problem(error.to_string()))?;
    let builder = match settings.enable_mtls {
        Some(true) => {
            let authorities =
                CredentialSetting::new("root_ca_certificate", &settings.root_ca_certificate);
            let roots = Arc::new(authorities.authorities()?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            let verifier = verifier.map_err(|error| authorities.problem(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
        _ => builder.with_no_client_auth(),
    };
    let shown = certificate.certificates()?;
    let concern = concern(&shown, SystemTime::now());
    let config = builder.with_single_cert(shown, key.key()?);
    let mut config =
        config.map_err(|error| key.problem(does_not_fit(&error, "listen_certificate")))?;
    let concern = concern.map(|concern| certificate.problem(concern).to_string());
    // A node that reconnects shows its certificate again: no state of past nodes is kept.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.alpn_protocols = alpn.to_vec();
    Ok((config, concern))
}

/// Returns the configuration of a listener, and logs the concern about its certificate.
fn server_logged(
    settings: &TlsSettings,
    alpn: &[Vec<u8>],
) -> Result<Arc<ServerConfig>, EndpointProblem> {
    let (config, concern) = server(settings, alpn)?;
    if let Some(concern) = concern {
        tracing::warn!("{concern}");
    }
    Ok(Arc::new(config))
}

fn does_not_fit(error: &rustls::Error, certificate: &str) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => format!("does not belong to {certificate}"),
        other => other.to_string(),
    }
}

/// Certificates that a listener shows and requires. A file that changes is reloaded, for later
/// connections.
#[derive(Debug)]
pub(in crate::link) struct Credentials {
    alpn: Vec<Vec<u8>>,
    state: Mutex<LoadedCredentials>,
}

#[derive(Debug)]
struct LoadedCredentials {
    settings: TlsSettings,
    config: Arc<ServerConfig>,
    looked: Instant,
    /// Modification time of each file.
    changed: Vec<Option<SystemTime>>,
}

impl Credentials {
    /// Loads the certificates; within QUIC they are for peers that speak one of `alpn`.
    pub(in crate::link) fn load(
        settings: TlsSettings,
        alpn: Vec<Vec<u8>>,
    ) -> Result<Self, EndpointProblem> {
        let state = Mutex::new(LoadedCredentials::load(settings, &alpn)?);
        Ok(Credentials { alpn, state })
    }

    /// Loads the certificates of other settings, for later connections. Settings other than
    /// certificates and keys stay.
    ///
    /// # Errors
    /// The setting that cannot be used; the previous certificates stay.
    pub(in crate::link) fn renew(&self, settings: TlsSettings) -> Result<(), EndpointProblem> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = TlsSettings {
            root_ca_certificate: settings.root_ca_certificate,
            listen_private_key: settings.listen_private_key,
            listen_certificate: settings.listen_certificate,
            ..state.settings.clone()
        };
        *state = LoadedCredentials::load(settings, &self.alpn)?;
        Ok(())
    }

    /// Returns the configuration with the current content of the files. If that is invalid, returns
    /// the previous one and logs a warning.
    pub(in crate::link) fn current(&self) -> Arc<ServerConfig> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if now.duration_since(state.looked) >= LOOK_EVERY {
            state.looked = now;
            let changed = changed(&state.settings);
            if changed != state.changed {
                state.changed = changed;
                match server_logged(&state.settings, &self.alpn) {
                    Ok(config) => {
                        tracing::info!("new connections get the renewed certificate");
                        state.config = config;
                    }
                    Err(problem) => {
                        tracing::warn!("{problem}; new connections get the previous certificate")
                    }
                }
            }
        }
        Arc::clone(&state.config)
    }
}

impl LoadedCredentials {
    fn load(settings: TlsSettings, alpn: &[Vec<u8>]) -> Result<LoadedCredentials, EndpointProblem> {
        // The times come first: a file that changes while it is read is read again.
        let changed = changed(&settings);
        Ok(LoadedCredentials {
            changed,
            config: server_logged(&settings, alpn)?,
            looked: Instant::now(),
            settings,
        })
    }
}

/// The certificate of this node for a server of another protocol, which has its own sockets.
#[derive(Debug)]
pub struct ServerCertificate(Credentials);

impl ServerCertificate {
    /// Loads it from the places in the settings.
    ///
    /// # Errors
    /// The setting that is missing or cannot be used.
    ///
    /// # Blocking
    /// Reads its files.
    pub fn load(settings: TlsSettings) -> Result<Self, EndpointProblem> {
        Credentials::load(settings, Vec::new()).map(ServerCertificate)
    }

    /// Returns the configuration with the current content of the files, of which it sees a change
    /// within a second.
    ///
    /// # Blocking
    /// Looks at the files, and reads those that have changed.
    pub fn current(&self) -> Arc<ServerConfig> {
        self.0.current()
    }

    /// Loads the certificate of other settings, for later connections.
    ///
    /// # Errors
    /// The setting that cannot be used; the previous certificate stays.
    ///
    /// # Blocking
    /// Reads its files.
    pub fn renew(&self, settings: TlsSettings) -> Result<(), EndpointProblem> {
        self.0.renew(settings)
    }
}

fn changed(settings: &TlsSettings) -> Vec<Option<SystemTime>> {
    let pieces = [
        &settings.root_ca_certificate,
        &settings.listen_certificate,
        &settings.listen_private_key,
    ];
    let changed = |pem: &&Option<Pem>| match pem {
        Some(Pem::File(path)) => Path::new(path)
            .metadata()
            .and_then(|found| found.modified())
            .ok(),
        _ => None,
    };
    pieces.iter().map(changed).collect()
}

/// Verifier that delegates to another one, and notes the fault where that is wanted.
#[derive(Debug)]
struct FaultRecorder {
    verifier: Arc<dyn ServerCertVerifier>,
    noted: Option<CertificateFault>,
}

impl ServerCertVerifier for FaultRecorder {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let judged = self.verifier.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        if let (Err(error), Some(noted)) = (&judged, &self.noted) {
            noted.note(error);
        }
        judged
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// Verifier that trusts certificates signed by the authorities, for any host.
#[derive(Debug)]
struct AnyName {
    roots: Arc<RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &self.roots,
            intermediates,
            now,
            self.algorithms.all,
        )?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Describes the fault of a handshake, as a clause.
pub(in crate::link) fn explain(error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref());
    match tls {
        Some(rustls::Error::InvalidCertificate(problem)) => explain_certificate(problem),
        Some(rustls::Error::AlertReceived(alert)) => explain_alert(*alert),
        Some(rustls::Error::InvalidMessage(_)) => {
            "the peer does not speak TLS; it may want another kind of link, such as tcp/".to_owned()
        }
        Some(rustls::Error::NoCertificatesPresented) => {
            "the peer showed no certificate; enable_mtls is true here".to_owned()
        }
        Some(other) => other.to_string(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the peer hung up during the handshake; does it speak TLS?".to_owned()
        }
        None => IoFailure::from(io::Error::from(error.kind())).to_string(),
    }
}

/// Describes the fault that the peer found with this node.
fn explain_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateRequired => {
            "the peer wants a certificate of this node; set enable_mtls, connect_certificate and connect_private_key".to_owned()
        }
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "the peer trusts no authority that has signed this node's certificate; show one of its own authority".to_owned()
        }
        AlertDescription::CertificateExpired => {
            "the certificate of this node has expired, says the peer".to_owned()
        }
        other => {
            format!("the peer refused ({other:?}); see what it says of this node's certificate")
        }
    }
}

fn explain_certificate(problem: &CertificateError) -> String {
    match problem {
        // The certificate is for another name.
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<_> = presented.iter().map(|name| bare_name(name)).collect();
            let names = names.join(", ");
            let expected = expected.to_str();
            format!("the peer's certificate is for {names}, and not for {expected}; connect by a name that it has, or set verify_name_on_connect to false")
        }
        // The certificate is not valid at this time.
        CertificateError::ExpiredContext { time, not_after } => {
            let since = time.as_secs().saturating_sub(not_after.as_secs());
            format!("the peer's certificate expired {} ago", span(since))
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let until = not_before.as_secs().saturating_sub(time.as_secs());
            format!("the peer's certificate is valid only in {}; are both clocks right?", span(until))
        }
        // The certificate was signed by another authority.
        CertificateError::UnknownIssuer => {
            "no authority that is trusted here has signed the peer's certificate; set root_ca_certificate".to_owned()
        }
        CertificateError::BadSignature => {
            "the peer's certificate was signed with another key than that of the authority of this name which is trusted here; set \
             root_ca_certificate to the authority that signed it"
                .to_owned()
        }
        other => format!("the peer's certificate does not do: {other:?}"),
    }
}

/// Returns a name without the decoration of the library: `DnsName("router.lan")`,
/// `IpAddress(127.0.0.1)`, and an IPv6 address with all of its zeros or as bytes.
fn bare_name(shown: &str) -> String {
    let inside = |kind: &str| shown.strip_prefix(kind)?.strip_suffix(')');
    let name = inside("DnsName(").map(|name| name.trim_matches('"').to_owned());
    let address = || {
        let text = inside("IpAddress(")?;
        let address = text.parse::<std::net::IpAddr>();
        Some(address.map_or_else(|_| text.to_owned(), |address| address.to_string()))
    };
    name.or_else(address).unwrap_or_else(|| shown.to_owned())
}
