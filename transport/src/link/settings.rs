// SPDX-License-Identifier: MIT OR Apache-2.0
//! Link settings of a node's configuration. An option of an endpoint behind `#` takes precedence.

use std::fmt;

use zonda_codec::Endpoint;

use super::{EndpointProblem, SocketBuffers, option};

/// Link settings of a node's configuration, for all that an endpoint leaves open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkSettings {
    /// Sizes of the buffers of TCP sockets. Default: the system's.
    pub tcp: SocketBuffers,
    /// Permissions of named pipes, before the process's mask. Default: the owner's.
    pub pipe_mode: Option<u32>,
    /// Origins of pages that may open a WebSocket; `*` for all. Default: those of the host that the
    /// request names, without encryption only if that is an address or a name of a private network.
    pub ws_origins: Option<Vec<String>>,
    /// Keys and certificates of encrypted links. Default: none.
    pub tls: TlsSettings,
}

/// Keys and certificates of encrypted links, and the rules for verifying the peer's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsSettings {
    /// Only authorities whose certificates are trusted. Default: the authorities of the public web
    /// for a node that this one connects to; none for a node that connects to this one, which shows
    /// no certificate then.
    pub root_ca_certificate: Option<Pem>,
    /// Private key of this node as a listener.
    pub listen_private_key: Option<Pem>,
    /// Certificate, and those above it, that is shown to nodes that connect.
    pub listen_certificate: Option<Pem>,
    /// Private key of this node when it connects. Only with `enable_mtls`.
    pub connect_private_key: Option<Pem>,
    /// Certificate, and those above it, that this node shows when it connects. Only with
    /// `enable_mtls`.
    pub connect_certificate: Option<Pem>,
    /// True if both ends show a certificate, and TLS is 1.3. Default: only the listening end does.
    pub enable_mtls: Option<bool>,
    /// True if the certificate of a node that this one connects to has to be for the host of the
    /// endpoint. Default: yes.
    pub verify_name_on_connect: Option<bool>,
    /// True if a link ends when the first of the peer's certificates expires. Default: no.
    pub close_link_on_expiration: Option<bool>,
    /// Sizes of the sockets' buffers. Default: the system's.
    pub buffers: SocketBuffers,
}

/// Place of keys or certificates in PEM form. Its `Debug` shows no content.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// File of this path.
    File(String),
    /// PEM text itself.
    Text(String),
    /// PEM text in base64.
    Base64(String),
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pem::File(path) => f.debug_tuple("File").field(path).finish(),
            Pem::Text(_) => f.write_str("Text(..)"),
            Pem::Base64(_) => f.write_str("Base64(..)"),
        }
    }
}

/// Names of an endpoint's options for the place of a piece, as in the reference: of several the
/// first one counts.
struct PemKeys {
    raw: &'static str,
    base64: &'static str,
    file: &'static str,
}

macro_rules! pem_keys {
    ($name:literal) => {
        PemKeys {
            raw: concat!($name, "_raw"),
            base64: concat!($name, "_base64"),
            file: concat!($name, "_file"),
        }
    };
}

impl TlsSettings {
    /// Returns the settings for an endpoint: its own options, and these for all that it leaves
    /// open.
    ///
    /// # Errors
    /// [`EndpointProblem::Option`] for a value that cannot be.
    pub fn of(&self, endpoint: &Endpoint) -> Result<TlsSettings, EndpointProblem> {
        // An option of the endpoint takes precedence over the configuration.
        let pem = |keys: PemKeys, otherwise: &Option<Pem>| {
            let find = |key: &str| endpoint.config().get(key).map(str::to_owned);
            let found = find(keys.raw).map(Pem::Text);
            let found = found.or_else(|| find(keys.base64).map(Pem::Base64));
            let found = found.or_else(|| find(keys.file).map(Pem::File));
            found.or_else(|| otherwise.clone())
        };
        let flag = |key: &'static str, otherwise: Option<bool>| {
            let found = option(endpoint, key, "true or false", |value| value.parse().ok());
            found.map(|found| found.or(otherwise))
        };
        Ok(TlsSettings {
            root_ca_certificate: pem(pem_keys!("root_ca_certificate"), &self.root_ca_certificate),
            listen_private_key: pem(pem_keys!("listen_private_key"), &self.listen_private_key),
            listen_certificate: pem(pem_keys!("listen_certificate"), &self.listen_certificate),
            connect_private_key: pem(pem_keys!("connect_private_key"), &self.connect_private_key),
            connect_certificate: pem(pem_keys!("connect_certificate"), &self.connect_certificate),
            enable_mtls: flag("enable_mtls", self.enable_mtls)?,
            verify_name_on_connect: flag("verify_name_on_connect", self.verify_name_on_connect)?,
            close_link_on_expiration: flag(
                "close_link_on_expiration",
                self.close_link_on_expiration,
            )?,
            buffers: self.buffers,
        })
    }
}
