// SPDX-License-Identifier: MIT OR Apache-2.0
//! TLS by rustls on a blocking socket. Two threads may share a connection, one that reads and one
//! that writes: neither holds the lock while it waits for the socket.

use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
};

use super::{Duplex, Wire};
use crate::link::pem;

/// Compile-time flag: TLS is compiled in.
pub const AVAILABLE: bool = true;

/// Bytes per read from the socket.
const READ: usize = 256 * 1024;

/// One end of the connection.
struct Secured {
    tcp: TcpStream,
    tls: Arc<Mutex<Connection>>,
    /// Bytes read from the socket; those in the range are not processed yet.
    raw: Vec<u8>,
    unread: Range<usize>,
}

/// Connects to a server with a certificate of the authority for this address.
pub fn connect(tcp: TcpStream, to: SocketAddr, settings: &[String]) -> io::Result<Wire> {
    let name = ServerName::IpAddress(to.ip().into());
    let tls = ClientConnection::new(Arc::new(client(settings)?), name).map_err(io::Error::other)?;
    introduce(tcp, tls.into())
}

/// Returns a configuration that trusts only the authority.
pub fn client(settings: &[String]) -> io::Result<ClientConfig> {
    let mut trusted = RootCertStore::empty();
    for certificate in certificates(settings, "root_ca_certificate")? {
        trusted.add(certificate).map_err(io::Error::other)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(config)
}

/// Accepts a connection with the server's certificate.
pub fn accept(tcp: TcpStream, settings: &[String]) -> io::Result<Wire> {
    let config = Arc::new(server(settings)?);
    let tls = ServerConnection::new(config).map_err(io::Error::other)?;
    introduce(tcp, tls.into())
}

/// Returns a configuration with the server's certificate, without authentication of clients.
pub fn server(settings: &[String]) -> io::Result<ServerConfig> {
    let chain = certificates(settings, "listen_certificate")?;
    let key = PrivateKeyDer::from_pem_slice(&text(settings, "listen_private_key")?);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key.map_err(io::Error::other)?)
        .map_err(io::Error::other)
}

fn text(settings: &[String], key: &str) -> io::Result<Vec<u8>> {
    pem(settings, key).ok_or_else(|| {
        let text = format!("--cfg transport/link/tls/{key}_base64 is missing");
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })
}

fn certificates(settings: &[String], key: &str) -> io::Result<Vec<CertificateDer<'static>>> {
    let text = text(settings, key)?;
    let all = CertificateDer::pem_slice_iter(&text).collect::<Result<_, _>>();
    all.map_err(io::Error::other)
}

fn introduce(mut tcp: TcpStream, mut tls: Connection) -> io::Result<Wire> {
    while tls.is_handshaking() {
        tls.complete_io(&mut tcp)?;
    }
    Ok(Box::new(Secured {
        tcp,
        tls: Arc::new(Mutex::new(tls)),
        raw: vec![0; READ],
        unread: 0..0,
    }))
}

fn lock(tls: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    tls.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Read for Secured {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match lock(&self.tls).reader().read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if self.unread.is_empty() {
                self.unread = 0..self.tcp.read(&mut self.raw)?;
            }
            let mut records = self.raw.get(self.unread.clone()).unwrap_or_default();
            let mut tls = lock(&self.tls);
            // no bytes are the end of the connection, which the next iteration returns
            self.unread.start += tls.read_tls(&mut records)?;
            tls.process_new_packets().map_err(io::Error::other)?;
        }
    }
}

impl Write for Secured {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buffer)])
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        let is_alone = Arc::strong_count(&self.tls) == 1;
        let mut records = Vec::new();
        let mut tls = lock(&self.tls);
        let n = tls.writer().write_vectored(buffers)?;
        while tls.wants_write() {
            match is_alone {
                true => tls.write_tls(&mut self.tcp)?,
                false => tls.write_tls(&mut records)?,
            };
        }
        drop(tls);
        self.tcp.write_all(&records)?;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Duplex for Secured {
    fn writer(&self) -> io::Result<Wire> {
        Ok(Box::new(Secured {
            tcp: self.tcp.try_clone()?,
            tls: Arc::clone(&self.tls),
            raw: Vec::new(),
            unread: 0..0,
        }))
    }
}
