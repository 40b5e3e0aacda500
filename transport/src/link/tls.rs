// SPDX-License-Identifier: MIT OR Apache-2.0
//! TLS over TCP: `tls/HOST:PORT`. The bytes within TLS are those of a TCP link.
//!
//! Unlike in the reference, a configured authority is the only one that is trusted, an IPv6 address
//! may be dialled, and new connections get the certificates that the files hold at that time.

mod credentials;
mod names;
mod session;
mod shares;
mod validity;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::{IpAddr as CertifiedAddress, ServerName};
use rustls::{ClientConnection, Connection, ServerConnection};
use zonda_codec::Endpoint;
use zonda_runtime::{LinkRead, LinkWrite, Runtime, Socket};

pub(crate) use self::session::{Reading, Session, Writing};

pub use self::credentials::ServerCertificate;
#[cfg(feature = "quic")]
pub(super) use self::credentials::{CertificateFault, QuicHandshakeParameters};
pub(super) use self::credentials::{Credentials, client, examine, explain};
#[cfg(feature = "quic")]
pub(super) use self::names::names;
use self::shares::{Budget, Shares};
#[cfg(feature = "quic")]
pub(super) use self::validity::first_end;
use super::raw::Raw;
use super::stream::Coding;
use super::{
    AddressGroup, BoundSocket, ConnectedSocket, EndpointProblem, HostPort, LinkFailure,
    LinkParameters, LinkStream, Protocol, ServerHandshake, TlsSettings, option, tcp,
};

pub(super) const AVAILABLE: bool = true;

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    tcp::check(endpoint)?;
    handshake_timeout(endpoint)?;
    TlsSettings::default().of(endpoint).map(drop)
}

/// Returns the time for the TLS handshake, in addition to the limits of all kinds of link.
fn handshake_timeout(endpoint: &Endpoint) -> Result<Duration, EndpointProblem> {
    let key = "tls_handshake_timeout_ms";
    let found = option(endpoint, key, "a number of milliseconds", |value| {
        value.parse().ok()
    });
    Ok(Duration::from_millis(found?.unwrap_or(10_000)))
}

/// Connects, and makes the TLS handshake.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    // Prepare the configuration before the connection.
    let settings = terms.links.tls.of(terms.endpoint)?;
    let HostPort { host, .. } = HostPort::of(terms.endpoint)?;
    let name = server_name(&host)?;
    let config = client(&settings, None)?;
    // Connect with TCP.
    let ConnectedSocket {
        stream,
        local,
        remote,
    } = tcp::connect(runtime, terms, settings.buffers).await?;
    let (local, remote) = (local.over(Protocol::Tls), remote.over(Protocol::Tls));
    let failed = |text: String| LinkFailure::Encryption {
        address: remote.clone(),
        text,
    };
    // Make the TLS handshake within the deadline.
    let tls = ClientConnection::new(Arc::new(config), name);
    let tls = tls.map_err(|error| failed(error.to_string()))?;
    let session = Session::new(Connection::Client(tls));
    let handshake = handshake(runtime, stream, &session, Budget::Own);
    let done = runtime.timeout_at(terms.deadline, handshake).await;
    let done = done.ok_or(LinkFailure::Expired)?;
    let socket = done.map_err(|error| failed(explain(&error)))?;
    if settings.close_link_on_expiration == Some(true) {
        session.end_with_certificate();
    }
    Ok(ConnectedSocket {
        stream: LinkStream::coded(socket, Coding::Tls(session)),
        local,
        remote,
    })
}

/// Returns the name that a certificate must be for.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, EndpointProblem> {
    // The scope of an IPv6 address has a meaning on this machine only.
    let host = host.split_once('%').map_or(host, |(address, _)| address);
    if let Ok(address) = host.parse::<std::net::IpAddr>() {
        return Ok(ServerName::IpAddress(CertifiedAddress::from(address)));
    }
    let name = ServerName::try_from(host.to_owned());
    name.map_err(|_| EndpointProblem::Address {
        address: host.to_owned(),
        what: "has a host that no certificate can be for",
    })
}

/// Exchanges records until both ends are ready.
async fn handshake<R: Runtime>(
    runtime: &R,
    stream: LinkStream,
    session: &Arc<Session>,
    budget: Budget,
) -> io::Result<Arc<Socket>> {
    let (mut read, mut write) = runtime.adopt_shared(stream.into_socket())?;
    let result = exchange(runtime, &mut read, &mut write, session, budget).await;
    if let Err(error) = result {
        // An alert reports to the peer the fault of its records.
        let alert = session.take_records()?;
        let _ = write.write_all(vec![alert]).await;
        let _ = write.shutdown().await;
        return Err(error);
    }
    let socket = runtime.release(read, write)?;
    tcp::prepare_encrypted(&socket);
    Ok(socket)
}

async fn exchange<R: Runtime>(
    runtime: &R,
    read: &mut impl LinkRead,
    write: &mut impl LinkWrite,
    session: &Arc<Session>,
    mut budget: Budget,
) -> io::Result<()> {
    let mut records = Raw::default();
    loop {
        let out = session.take_records()?;
        if !out.is_empty() {
            write.write_all(vec![out]).await.0?;
        }
        if !session.with(|tls| tls.is_handshaking()) {
            // The peer may have sent its first message right behind.
            session.keep_unread(records);
            return Ok(());
        }
        if records.is_empty() && records.fill(read).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // Only after bytes have arrived: a silent peer uses up no turn.
        budget.wait(runtime).await;
        budget.work(|| session.take_in(&mut records))?;
    }
}

/// Binds like TCP, once keys and certificates are loaded.
pub(super) fn bind<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    let settings = terms.links.tls.of(terms.endpoint)?;
    let buffers = settings.buffers;
    let timeout = handshake_timeout(terms.endpoint)?;
    let gate = Arc::new(ListenerConfig {
        shares: Shares::new(),
        timeout,
        ends_with_certificate: settings.close_link_on_expiration == Some(true),
        credentials: Credentials::load(settings, Vec::new())?,
    });
    let bound = tcp::bind(runtime, terms, buffers)?.into_iter();
    let bound = bound.map(|bound| BoundSocket {
        address: bound.address.over(Protocol::Tls),
        entrance: ServerHandshake::Tls(Arc::clone(&gate)),
        ..bound
    });
    Ok(bound.collect())
}

/// Gate of an encrypted listener.
#[derive(Debug)]
pub(crate) struct ListenerConfig {
    credentials: Credentials,
    shares: Arc<Shares>,
    timeout: Duration,
    ends_with_certificate: bool,
}

impl ListenerConfig {
    /// Loads the certificates of other settings, for later connections.
    ///
    /// # Errors
    /// The setting that cannot be used; the previous certificates stay.
    pub(crate) fn renew(&self, settings: TlsSettings) -> Result<(), EndpointProblem> {
        self.credentials.renew(settings)
    }

    /// Makes the TLS handshake with a peer: shows this node's certificate, and requests the peer's
    /// where both ends have to show one.
    ///
    /// # Errors
    /// The reason for the failure, as a clause.
    pub(crate) async fn pass<R: Runtime>(
        &self,
        runtime: &R,
        stream: LinkStream,
    ) -> Result<LinkStream, String> {
        let tls = ServerConnection::new(self.credentials.current());
        let tls = tls.map_err(|error| error.to_string())?;
        let session = Session::new(Connection::Server(tls));
        let deadline = Instant::now() + self.timeout;
        let peer = stream.socket().peer_addr().ok();
        let peer = peer.and_then(|at| at.as_socket());
        let group = peer.map_or(AddressGroup::THIS_MACHINE, |at| AddressGroup::of(at.ip()));
        let budget = Budget::Shared(Arc::clone(&self.shares), group);
        let handshake = handshake(runtime, stream, &session, budget);
        let done = runtime.timeout_at(deadline, handshake).await;
        let done = done.ok_or_else(|| "no handshake of TLS in time".to_owned())?;
        let socket = done.map_err(|error| explain(&error))?;
        if self.ends_with_certificate {
            session.end_with_certificate();
        }
        Ok(LinkStream::coded(socket, Coding::Tls(session)))
    }
}

#[cfg(test)]
mod tests;
