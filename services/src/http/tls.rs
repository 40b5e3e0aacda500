// SPDX-License-Identifier: MIT OR Apache-2.0

//! TLS of the HTTP server, with the certificate of the node.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;
use zonda::Config;
use zonda_transport::link::ServerCertificate;

/// Names of protocols.
const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// The certificate of a server. Later connections get a renewed one.
#[derive(Debug)]
pub struct Tls {
    certificate: ServerCertificate,
    /// The current certificate, and the same with the names of both protocols.
    offered: Mutex<Option<(Arc<ServerConfig>, Arc<ServerConfig>)>>,
}

impl Tls {
    /// Loads the certificate that links of the node show, with the same demand for certificates of
    /// clients.
    ///
    /// # Errors
    /// The reason why it cannot be used.
    ///
    /// # Blocking
    /// Reads its files.
    pub fn load(config: &Config) -> Result<Tls, String> {
        let loaded = ServerCertificate::load(config.settings().links().tls);
        match loaded {
            Err(error) => Err(error.to_string()),
            Ok(certificate) => Ok(Tls {
                certificate,
                offered: Mutex::default(),
            }),
        }
    }

    /// Loads the certificate of another configuration, for later connections.
    ///
    /// # Errors
    /// The reason why it cannot be used; the previous one stays.
    ///
    /// # Blocking
    /// Reads its files.
    pub fn renew(&self, config: &Config) -> Result<(), String> {
        let renewed = self.certificate.renew(config.settings().links().tls);
        renewed.map_err(|error| error.to_string())
    }

    /// Makes the handshake with a client. Returns true if it has chosen HTTP/2.
    ///
    /// # Errors
    /// The client does not take part.
    pub(super) async fn accept(
        &self,
        stream: TcpStream,
    ) -> io::Result<(TlsStream<TcpStream>, bool)> {
        let acceptor: TlsAcceptor = self.offered().into();
        let stream = acceptor.accept(stream).await?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
        Ok((stream, is_http2))
    }

    /// Returns the current certificate with the names of both protocols, for ALPN.
    fn offered(&self) -> Arc<ServerConfig> {
        let current = self.certificate.current();
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, known)) = &*offered
            && Arc::ptr_eq(of, &current)
        {
            return Arc::clone(known);
        }
        let mut config = ServerConfig::clone(&current);
        config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        let config = Arc::new(config);
        *offered = Some((current, Arc::clone(&config)));
        config
    }
}
