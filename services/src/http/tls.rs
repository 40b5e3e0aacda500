// SPDX-License-Identifier: MIT OR Apache-2.0

//! TLS of the HTTP server, with the certificate of the node.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use zonda::Config;
use zonda_transport::link::ServerCertificate;

/// The certificate of a server. Later connections get a renewed one.
#[derive(Debug)]
pub struct Tls(ServerCertificate);

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
        loaded.map(Tls).map_err(|error| error.to_string())
    }

    /// Loads the certificate of another configuration, for later connections.
    ///
    /// # Errors
    /// The reason why it cannot be used; the previous one stays.
    ///
    /// # Blocking
    /// Reads its files.
    pub fn renew(&self, config: &Config) -> Result<(), String> {
        let renewed = self.0.renew(config.settings().links().tls);
        renewed.map_err(|error| error.to_string())
    }

    /// Makes the handshake with a client.
    ///
    /// # Errors
    /// The client does not take part.
    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let acceptor: TlsAcceptor = Arc::clone(&self.0.current()).into();
        acceptor.accept(stream).await
    }
}
