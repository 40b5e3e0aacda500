// SPDX-License-Identifier: MIT OR Apache-2.0
//! QUIC: `quic/HOST:PORT`. A link is a connection, encrypted with the keys and certificates of
//! `tls`. Its batches are sent in a stream for each priority, in a single one, or in datagrams.
//!
//! The protocol is implemented by `quinn-proto`, which has no sockets and no tasks: an endpoint
//! here is one socket of the runtime and one task ([`endpoint_driver`]), whatever the runtime. The task of the
//! link ([`carry`]) sends its bytes.

mod block_pool;
mod carry;
mod certificates;
mod connection;
mod endpoint_driver;
mod inbox;
mod incoming;
mod outgoing;
mod reasons;
mod streams;
mod terms;
mod udp_io;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::ClientConfig;
use quinn_proto::crypto::rustls::QuicClientConfig;
use zonda_codec::Endpoint;
use zonda_runtime::Runtime;

use self::certificates::ListenerCertificates;
use self::connection::{Closing, Loss};
use self::endpoint_driver::EndpointDriver;
use self::reasons::explain_lost;
use self::terms::{Carrier, QuicOptions};
use super::carrier::{CarrierHandle, CarrierState, DATAGRAM_LAG_MAX, STREAM_LAG_MAX};
use super::stream::Coding;
use super::tls::{self, CertificateFault, Credentials, QuicHandshakeParameters};
use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, HostPort, LinkAddress, LinkFailure,
    LinkParameters, LinkStream, Protocol, ServerHandshake, SocketOptions, TlsSettings, tcp, udp,
};

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    HostPort::of(endpoint)?;
    SocketOptions::of(endpoint)?;
    QuicOptions::of(endpoint)?;
    TlsSettings::default().of(endpoint).map(drop)
}

/// Returns the longest batch of an endpoint's links, where the size is limited.
pub(super) fn batch_bytes_max(endpoint: &Endpoint) -> Option<u16> {
    QuicOptions::of(endpoint).ok()?.batch_bytes_max()
}

fn internet(at: SocketAddr) -> LinkAddress {
    LinkAddress::internet(Protocol::Quic, at)
}

/// Parameters for all addresses of a host.
struct Dialling {
    /// Name that the certificate must be for.
    name: String,
    config: ClientConfig,
    quic: QuicOptions,
    /// Set if links end when the peer's certificate expires.
    ends_with_certificate: bool,
    noted: CertificateFault,
    options: SocketOptions,
}

/// Connects to the first address of the endpoint's host that answers.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    check(terms.endpoint)?;
    // Resolve the host.
    let HostPort { host, port } = HostPort::of(terms.endpoint)?;
    let dialling = dialling(terms, &host)?;
    let search = runtime.resolve(host.clone(), port);
    let found = runtime.timeout_at(terms.deadline, search).await;
    let addresses = found.ok_or(LinkFailure::Expired)?;
    let addresses = tcp::alternate(addresses.map_err(|error| LinkFailure::Resolve {
        host,
        failure: error.into(),
    })?);
    // Try the addresses in turn, each for its share of the time.
    let mut failures = Vec::new();
    for (index, &to) in addresses.iter().enumerate() {
        let left = addresses.len() - index;
        let bound = tcp::share(Instant::now(), terms.deadline, left);
        let attempt = connect_to(runtime, to, &dialling);
        match runtime.timeout_at(bound, attempt).await {
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(Failure::Io(error))) => failures.push((internet(to), error.into())),
            // A fault between the two ends would repeat on every address.
            Some(Err(Failure::Text(text))) => {
                let address = internet(to);
                return Err(LinkFailure::Encryption { address, text });
            }
            None if Instant::now() >= terms.deadline => return Err(LinkFailure::Expired),
            None => {
                let error = io::Error::from(io::ErrorKind::TimedOut);
                failures.push((internet(to), error.into()));
            }
        }
    }
    Err(LinkFailure::Refused(failures))
}

fn dialling(terms: &LinkParameters<'_>, host: &str) -> Result<Dialling, LinkFailure> {
    let settings = terms.links.tls.of(terms.endpoint)?;
    let name = tls::server_name(host)?.to_str().into_owned();
    let quic = QuicOptions::of(terms.endpoint)?;
    let noted = CertificateFault::default();
    let within = QuicHandshakeParameters {
        alpn: quic.alpn(),
        noted: noted.clone(),
    };
    let tls = tls::client(&settings, Some(within))?;
    let crypto = QuicClientConfig::try_from(tls).map_err(|error| EndpointProblem::Credentials {
        setting: "root_ca_certificate",
        place: String::new(),
        problem: format!("cannot be used for QUIC: {error}"),
    })?;
    Ok(Dialling {
        name,
        config: ClientConfig::new(Arc::new(crypto)),
        quic,
        ends_with_certificate: settings.close_link_on_expiration == Some(true),
        noted,
        options: SocketOptions::of(terms.endpoint)?,
    })
}

/// Error of an attempt.
enum Failure {
    /// The system's reason.
    Io(io::Error),
    /// The failure between the two ends, as a clause.
    Text(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

/// Connects to one address: a socket, and a task that serves it for as long as the connection
/// lasts.
async fn connect_to<R: Runtime>(
    runtime: &R,
    to: SocketAddr,
    dialling: &Dialling,
) -> Result<ConnectedSocket, Failure> {
    let socket = udp::socket_for(to, &dialling.options)?;
    let anywhere = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    socket.bind(&dialling.options.bind.unwrap_or(anywhere).into())?;
    // On a connected socket the system reports that no socket listens there. On other systems a
    // connected socket does not accept a destination address.
    #[cfg(target_os = "linux")]
    socket.connect(&to.into())?;
    let local = internet(udp::local_address(&socket)?);
    let hub = EndpointDriver::new(&socket, dialling.quic.carrier(), None)?;
    let mut config = dialling.config.clone();
    let is_same_host = to.ip().is_loopback() || udp::local_address(&socket)?.ip() == to.ip();
    config.transport_config(dialling.quic.transport(is_same_host));
    let held = hub.connect(config, to, &dialling.name);
    let held = held.map_err(|error| Failure::Text(error.to_string()))?;
    let mut listener = runtime.listen(socket)?;
    let own = runtime.clone();
    runtime.spawn("zonda-quic-endpoint", move || async move {
        hub.serve(&own, &mut listener, drop).await;
    });
    match held.0.opened().await {
        Ok(()) => {}
        Err(Loss::Refused) => return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into()),
        Err(lost) => return Err(Failure::Text(explain_lost(&lost, Some(&dialling.noted)))),
    }
    Ok(ConnectedSocket {
        stream: link(runtime, held, dialling.ends_with_certificate)?,
        local,
        remote: internet(to),
    })
}

/// Returns the link of an open connection.
fn link<R: Runtime>(
    runtime: &R,
    held: Closing,
    ends_with_certificate: bool,
) -> io::Result<LinkStream> {
    let valid_until = || held.0.valid_until();
    let end = ends_with_certificate.then(valid_until).flatten();
    let by = Arc::downgrade(&held.0);
    let lag_max = match held.0.carrier() {
        Carrier::Datagrams => Some(DATAGRAM_LAG_MAX),
        Carrier::Streams => held.0.has_lanes().then_some(STREAM_LAG_MAX),
    };
    let names = held.0.shown().and_then(|shown| tls::names(&shown));
    let carriage = CarrierState::new(by, end, lag_max).certified(names);
    let carriage = Arc::new(carriage);
    let socket = carry::start(runtime, held, Arc::clone(&carriage))?;
    let coding = Coding::Carried(CarrierHandle::of(carriage));
    Ok(LinkStream::coded(socket, coding))
}

/// Binds every address of the endpoint's host, once keys and certificates are loaded.
pub(super) fn bind<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    check(terms.endpoint)?;
    let settings = terms.links.tls.of(terms.endpoint)?;
    let quic = QuicOptions::of(terms.endpoint)?;
    let options = SocketOptions::of(terms.endpoint)?;
    let greeting = || {
        let credentials = Credentials::load(settings.clone(), quic.alpn())?;
        ListenerCertificates::new(credentials, quic.transport(false), quic.transport(true))
    };
    // A fault of keys or certificates is reported before any socket is bound.
    greeting()?;
    tcp::bind_each(runtime, terms, &|at| {
        let socket = tcp::everywhere(at, |at, dual_stack| {
            let socket = udp::socket_for(at, &options)?;
            if dual_stack {
                socket.set_only_v6(false)?;
            }
            socket.bind(&at.into())?;
            Ok(socket)
        })?;
        let greeting = greeting().map_err(io::Error::other)?;
        let hub = EndpointDriver::new(&socket, quic.carrier(), Some(greeting))?;
        Ok(BoundSocket {
            address: internet(udp::local_address(&socket)?),
            socket,
            belongings: None,
            entrance: ServerHandshake::Quic(ListenerConfig {
                hub,
                ends_with_certificate: settings.close_link_on_expiration == Some(true),
            }),
        })
    })
}

/// Gate of a listener: its endpoint, whose socket all accepted links share.
#[derive(Debug, Clone)]
pub(crate) struct ListenerConfig {
    hub: Arc<EndpointDriver>,
    ends_with_certificate: bool,
}

impl ListenerConfig {
    /// Serves the endpoint until it is stopped and the last accepted link has ended. Connections
    /// that begin a handshake are passed to `meet`.
    pub(crate) async fn serve<R: Runtime>(
        &self,
        runtime: &R,
        listener: &mut R::Listener,
        mut meet: impl FnMut(IncomingConnection) + Send,
    ) {
        let ends_with_certificate = self.ends_with_certificate;
        let meet = |held| {
            meet(IncomingConnection {
                held,
                ends_with_certificate,
            });
        };
        self.hub.serve(runtime, listener, meet).await;
    }

    /// Loads the certificates of other settings, for later connections.
    ///
    /// # Errors
    /// The setting that cannot be used; the previous certificates stay.
    pub(crate) fn renew(&self, settings: TlsSettings) -> Result<(), EndpointProblem> {
        self.hub.renew(settings)
    }

    /// Refuses all new connections from now on.
    pub(crate) fn stop(&self) {
        self.hub.stop();
    }
}

/// Incoming connection whose handshake has begun. Dropping it refuses it.
#[derive(Debug)]
pub(crate) struct IncomingConnection {
    held: Closing,
    ends_with_certificate: bool,
}

impl IncomingConnection {
    /// Returns the address that the peer claims.
    pub(crate) fn from(&self) -> SocketAddr {
        self.held.0.remote()
    }

    /// Waits for the end of the handshake, and for the link.
    ///
    /// # Errors
    /// The reason, as a clause.
    pub(crate) async fn pass<R: Runtime>(self, runtime: &R) -> Result<LinkStream, String> {
        let opened = self.held.0.opened().await;
        opened.map_err(|lost| explain_lost(&lost, None))?;
        let stream = link(runtime, self.held, self.ends_with_certificate);
        stream.map_err(|error| error.to_string())
    }
}
