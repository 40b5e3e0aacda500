// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links: the kinds of connection between two nodes, each in a file of its own, and the
//! requirements of an endpoint.
//!
//! A kind of link is a file, and a line in each `match` below: [`Protocol::check`] reads an
//! endpoint, `connect` and `bind` make sockets for it, `accept` prepares an accepted one. No code
//! above this module names a protocol.

mod address;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "senders do not write by themselves there")
)]
mod backlog;
mod carrier;
mod failure;
mod group;
#[cfg(unix)]
#[cfg_attr(
    not(any(target_os = "linux", feature = "serial")),
    allow(dead_code, reason = "no kind of link is handed over")
)]
mod handed_sockets;
mod link_address;
#[cfg(target_os = "linux")]
pub(crate) mod non_blocking;
mod option_table;
mod options;
mod pacing;
#[cfg_attr(
    not(any(target_os = "linux", feature = "tls", feature = "ws")),
    allow(dead_code, reason = "nothing is encoded")
)]
mod parts;
#[cfg(any(target_os = "linux", all(unix, feature = "serial")))]
mod pump;
#[cfg_attr(
    not(feature = "quic"),
    path = "absent.rs",
    allow(clippy::duplicate_mod)
)]
mod quic;
#[cfg_attr(
    not(all(feature = "tls", feature = "ws")),
    allow(dead_code, reason = "no kind needs all of it")
)]
mod raw;
#[cfg(unix)]
#[cfg_attr(
    not(feature = "serial"),
    path = "absent.rs",
    allow(clippy::duplicate_mod)
)]
mod serial;
mod settings;
mod stream;
mod tcp;
#[cfg_attr(not(feature = "tls"), path = "absent.rs", allow(clippy::duplicate_mod))]
mod tls;
mod trial;
mod udp;
#[cfg(unix)]
mod unix;
#[cfg(target_os = "linux")]
mod unixpipe;
#[cfg(target_os = "linux")]
mod vsock;
#[cfg_attr(not(feature = "ws"), path = "absent.rs", allow(clippy::duplicate_mod))]
mod ws;
#[cfg_attr(not(feature = "wss"), path = "absent.rs", allow(clippy::duplicate_mod))]
mod wss;

use std::{any::Any, fmt, io, net::SocketAddr, pin::Pin, sync::Arc, time::Instant};

use zonda_codec::Endpoint;
use zonda_runtime::{Runtime, Socket};

pub use address::HostPort;
pub(crate) use backlog::{Backlog, BacklogGauge};
pub use failure::IoFailure;
pub(crate) use failure::RulesBroken;
pub use group::AddressGroup;
pub use link_address::LinkAddress;
pub use option_table::{LINK_OPTIONS, LinkOption, Part, check_options, idle_options};
pub use options::{SocketBuffers, SocketOptions};
pub(crate) use options::{option, qos_link};
#[cfg(target_os = "linux")]
pub(crate) use parts::send_parts;
pub(crate) use quic::{IncomingConnection as SharedStranger, ListenerConfig as SharedGate};
pub use settings::{LinkSettings, Pem, TlsSettings};
pub(crate) use stream::{Coding, Expiry, PriorityPause};
pub use stream::{Halves, LinkStream, StreamRead, StreamWrite};
#[cfg(feature = "tls")]
pub use tls::ServerCertificate;
pub(crate) use trial::try_listening;
pub use trial::{EndpointUse, check_credentials};
pub use udp::group::is_group;
pub(crate) use udp::group::{GroupSockets, join as join_group};
#[cfg(target_os = "linux")]
pub(crate) use udp::is_lost;
pub(crate) use udp::{AddressPair, Flow, UdpListenerHandle};

use crate::protocol::{
    handshake::HandshakeError,
    parameters::{Established, LocalParameters},
};

/// Established link: the socket, and the agreement of its two ends.
#[derive(Debug)]
pub struct Link {
    /// Connected, non-blocking socket, registered with no runtime: the driver's task adopts it.
    pub stream: LinkStream,
    /// Outcome of the handshake.
    pub established: Established,
    /// Address of this end.
    pub local: LinkAddress,
    /// Address of the peer's end.
    pub remote: LinkAddress,
    /// Bytes that were read behind the handshake's last message; they come before anything read from `stream`.
    pub unread: Vec<u8>,
}

/// Connected socket, before the handshake of the two ends.
#[derive(Debug)]
pub(crate) struct ConnectedSocket {
    /// Non-blocking socket.
    pub stream: LinkStream,
    /// Address of this end.
    pub local: LinkAddress,
    /// Address of the peer's end.
    pub remote: LinkAddress,
}

/// Listening socket.
pub(crate) struct BoundSocket {
    /// Socket that listens.
    pub socket: Socket,
    /// Address of the socket; port 0 is replaced by the system's choice.
    pub address: LinkAddress,
    /// Resources that are dropped when the socket is closed, such as the files of a path.
    pub belongings: Option<Box<dyn Any + Send>>,
    /// Entrance that each connection has to pass.
    pub entrance: ServerHandshake,
}

/// Steps between an accepted socket and the first message of its peer.
#[derive(Debug, Clone)]
pub(crate) enum ServerHandshake {
    /// The socket needs no steps.
    Open,
    /// A handshake of TLS.
    #[cfg_attr(
        not(feature = "tls"),
        allow(dead_code, reason = "nothing is encrypted")
    )]
    Tls(Arc<tls::ListenerConfig>),
    /// A request for a WebSocket.
    #[cfg_attr(
        not(feature = "ws"),
        allow(dead_code, reason = "only this feature makes one")
    )]
    Ws(ws::ListenerConfig),
    /// A handshake of TLS, and a request for a WebSocket in it.
    #[cfg_attr(
        not(feature = "wss"),
        allow(dead_code, reason = "only this feature makes one")
    )]
    Wss(Arc<tls::ListenerConfig>, ws::ListenerConfig),
    /// A handshake of QUIC, on the socket that all of its links share.
    #[cfg_attr(
        not(feature = "quic"),
        allow(dead_code, reason = "only this feature makes one")
    )]
    Quic(quic::ListenerConfig),
    /// The socket needs no steps; threads make the sockets and pass them on.
    #[cfg(unix)]
    #[cfg_attr(
        not(any(target_os = "linux", feature = "serial")),
        allow(dead_code, reason = "no kind of link is handed over")
    )]
    Handed(Arc<handed_sockets::HandedSockets>),
}

/// Incoming connection at a listener.
#[derive(Debug)]
pub(crate) enum IncomingLink {
    /// Connection with a socket of its own.
    Socket(Socket),
    /// Connection over the socket that all of them share.
    Quic(quic::IncomingConnection),
}

impl ServerHandshake {
    /// Returns the gate that serves the socket of all links of a listener, if they share one.
    pub(crate) fn shared(&self) -> Option<&quic::ListenerConfig> {
        match self {
            ServerHandshake::Quic(gate) => Some(gate),
            _ => None,
        }
    }

    /// Returns true if connections are shown a certificate here.
    pub(crate) fn is_encrypted(&self) -> bool {
        use ServerHandshake::{Quic, Tls, Wss};
        matches!(self, Tls(_) | Wss(..) | Quic(_))
    }

    /// Loads the certificates of other settings, for later connections.
    ///
    /// # Errors
    /// The setting that cannot be used; the previous certificates stay.
    pub(crate) fn renew(&self, settings: TlsSettings) -> Result<(), EndpointProblem> {
        match self {
            ServerHandshake::Tls(gate) | ServerHandshake::Wss(gate, _) => gate.renew(settings),
            ServerHandshake::Quic(gate) => gate.renew(settings),
            _ => Ok(()),
        }
    }

    /// Waits for an incoming connection.
    pub(crate) async fn accept<R: Runtime>(
        &self,
        runtime: &R,
        listener: &mut R::Listener,
    ) -> io::Result<(Socket, Option<SocketAddr>)> {
        match self {
            #[cfg(unix)]
            ServerHandshake::Handed(handed) => runtime.take_from(listener, || handed.take()).await,
            _ => runtime.accept(listener).await,
        }
    }

    /// Takes a connection through its entrance: at once, or by a future to wait for.
    pub(crate) fn pass<'a, R: Runtime>(
        &'a self,
        runtime: &'a R,
        arrival: IncomingLink,
    ) -> HandshakeResult<'a> {
        // QUIC has its own handshake.
        let stream = match arrival {
            IncomingLink::Socket(socket) => LinkStream::from(socket),
            IncomingLink::Quic(stranger) => {
                return HandshakeResult::Wait(Box::pin(async move {
                    let passed = stranger.pass(runtime).await;
                    passed.map_err(HandshakeError::Encryption)
                }));
            }
        };
        // Other links begin with a socket.
        match self {
            ServerHandshake::Open | ServerHandshake::Quic(_) => HandshakeResult::Done(stream),
            #[cfg(unix)]
            ServerHandshake::Handed(_) => HandshakeResult::Done(stream),
            ServerHandshake::Tls(gate) => HandshakeResult::Wait(Box::pin(async move {
                let passed = gate.pass(runtime, stream).await;
                passed.map_err(HandshakeError::Encryption)
            })),
            ServerHandshake::Ws(gate) => HandshakeResult::Wait(Box::pin(async move {
                let passed = gate.pass(runtime, stream).await;
                passed.map_err(HandshakeError::Upgrade)
            })),
            ServerHandshake::Wss(tls, ws) => HandshakeResult::Wait(Box::pin(async move {
                let passed = tls.pass(runtime, stream).await;
                let passed = passed.map_err(HandshakeError::Encryption)?;
                let passed = ws.pass(runtime, passed).await;
                passed.map_err(HandshakeError::Upgrade)
            })),
        }
    }
}

/// Passage of an accepted socket.
pub(crate) enum HandshakeResult<'a> {
    /// The connection has passed.
    Done(LinkStream),
    /// The connection has to be awaited; the error is the reason for its refusal.
    Wait(Pin<Box<dyn Future<Output = Result<LinkStream, HandshakeError>> + Send + 'a>>),
}

/// Parameters for connecting to an endpoint or listening on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkParameters<'a> {
    /// The endpoint.
    pub endpoint: &'a Endpoint,
    /// Deadline of the call.
    pub deadline: Instant,
    /// Settings for all that the endpoint leaves open.
    pub links: &'a LinkSettings,
}

/// Reason for a missing socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkFailure {
    /// The endpoint is wrong, whatever the state of the system.
    Endpoint(EndpointProblem),
    /// The host name has no address.
    Resolve {
        /// Host name.
        host: String,
        /// The resolver's reason.
        failure: IoFailure,
    },
    /// Each address that was tried, with its failure.
    Refused(Vec<(LinkAddress, IoFailure)>),
    /// Connected, but the two ends agreed on no encryption, or did not trust each other.
    #[cfg_attr(
        not(feature = "tls"),
        allow(dead_code, reason = "nothing is encrypted")
    )]
    Encryption {
        /// The address connected to.
        address: LinkAddress,
        /// The failure, as a clause.
        text: String,
    },
    /// Connected, but the server there did not accept a WebSocket.
    #[cfg_attr(not(feature = "ws"), allow(dead_code, reason = "nothing is asked"))]
    Upgrade {
        /// The address connected to.
        address: LinkAddress,
        /// The failure, as a clause.
        text: String,
    },
    /// The time was over.
    Expired,
}

impl From<EndpointProblem> for LinkFailure {
    fn from(problem: EndpointProblem) -> Self {
        LinkFailure::Endpoint(problem)
    }
}

/// Kinds of link of this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// `quic/HOST:PORT`
    Quic,
    /// `serial/DEVICE`
    #[cfg(unix)]
    Serial,
    /// `tcp/HOST:PORT`
    Tcp,
    /// `tls/HOST:PORT`
    Tls,
    /// `udp/HOST:PORT`
    Udp,
    /// `unixpipe/PATH`
    #[cfg(target_os = "linux")]
    Unixpipe,
    /// `unixsock-stream/PATH`
    #[cfg(unix)]
    UnixsockStream,
    /// `vsock/CID:PORT`
    #[cfg(target_os = "linux")]
    Vsock,
    /// `ws/HOST:PORT`
    Ws,
    /// `wss/HOST:PORT`
    Wss,
}

impl Protocol {
    /// Every kind.
    pub const ALL: &[Protocol] = &[
        #[cfg(feature = "quic")]
        Protocol::Quic,
        #[cfg(all(unix, feature = "serial"))]
        Protocol::Serial,
        Protocol::Tcp,
        #[cfg(feature = "tls")]
        Protocol::Tls,
        Protocol::Udp,
        #[cfg(target_os = "linux")]
        Protocol::Unixpipe,
        #[cfg(unix)]
        Protocol::UnixsockStream,
        #[cfg(target_os = "linux")]
        Protocol::Vsock,
        #[cfg(feature = "ws")]
        Protocol::Ws,
        #[cfg(feature = "wss")]
        Protocol::Wss,
    ];

    /// Returns the name in front of an endpoint's address.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Quic => "quic",
            #[cfg(unix)]
            Protocol::Serial => "serial",
            Protocol::Tcp => "tcp",
            Protocol::Tls => "tls",
            Protocol::Udp => "udp",
            #[cfg(target_os = "linux")]
            Protocol::Unixpipe => "unixpipe",
            #[cfg(unix)]
            Protocol::UnixsockStream => "unixsock-stream",
            #[cfg(target_os = "linux")]
            Protocol::Vsock => "vsock",
            Protocol::Ws => "ws",
            Protocol::Wss => "wss",
        }
    }

    /// Returns the kind that `endpoint` names.
    ///
    /// # Errors
    /// [`EndpointProblem::Protocol`] when this build has no such kind.
    pub fn of(endpoint: &Endpoint) -> Result<Protocol, EndpointProblem> {
        let name = endpoint.proto();
        let mut all = Protocol::ALL
            .iter()
            .chain(&[Protocol::Quic, Protocol::Tls, Protocol::Ws, Protocol::Wss])
            .chain(
                #[cfg(unix)]
                &[Protocol::Serial],
                #[cfg(not(unix))]
                &[],
            )
            .copied();
        all.find(|protocol| protocol.name() == name)
            .ok_or_else(|| EndpointProblem::Protocol {
                name: name.to_owned(),
            })
    }

    /// Checks address and options of an endpoint of this kind.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(self, endpoint: &Endpoint) -> Result<(), EndpointProblem> {
        match self {
            Protocol::Quic => quic::check(endpoint),
            #[cfg(unix)]
            Protocol::Serial => serial::check(endpoint),
            Protocol::Tcp => tcp::check(endpoint),
            Protocol::Tls => tls::check(endpoint),
            Protocol::Udp => udp::check(endpoint),
            #[cfg(target_os = "linux")]
            Protocol::Unixpipe => unixpipe::check(endpoint),
            #[cfg(unix)]
            Protocol::UnixsockStream => unix::check(endpoint),
            #[cfg(target_os = "linux")]
            Protocol::Vsock => vsock::check(endpoint),
            Protocol::Ws => ws::check(endpoint),
            Protocol::Wss => wss::check(endpoint),
        }
    }

    /// Returns the number of file descriptors of an accepted link of this kind: the socket, or two
    /// ends of a pair and the device or file behind it where the link is no socket of the system,
    /// or shares one.
    #[must_use]
    pub fn descriptors(self) -> usize {
        match self {
            Protocol::Quic => 2,
            #[cfg(unix)]
            Protocol::Serial => 3,
            #[cfg(target_os = "linux")]
            Protocol::Unixpipe => 4,
            _ => 1,
        }
    }

    /// Returns true if each batch is a datagram of its own, which may get lost.
    pub(crate) fn has_datagrams(self) -> bool {
        self == Protocol::Udp
    }

    /// Returns true if its links are streams that lose nothing, and whose addresses tell if both ends are on one machine.
    pub(crate) fn is_stream(self) -> bool {
        match self {
            Protocol::Tcp | Protocol::Tls | Protocol::Ws | Protocol::Wss => true,
            #[cfg(unix)]
            Protocol::UnixsockStream => true,
            #[cfg(target_os = "linux")]
            Protocol::Unixpipe => true,
            _ => false,
        }
    }

    /// Returns the largest batch that fits a message of this kind, where the size is limited. Such
    /// batches may get lost.
    fn batch_bytes_max(self, endpoint: &Endpoint) -> Option<u16> {
        match self {
            Protocol::Quic => quic::batch_bytes_max(endpoint),
            #[cfg(unix)]
            Protocol::Serial => Some(serial::CONTENT_BYTES_MAX),
            Protocol::Udp => Some(udp::DATAGRAM_BYTES_MAX),
            _ => None,
        }
    }

    /// Returns the offer of a node on links of an endpoint of this kind: batches that fit, and none
    /// that a datagram cannot be.
    pub(crate) fn offer(self, local: &LocalParameters, endpoint: &Endpoint) -> LocalParameters {
        let mut offered = local.clone();
        if let Some(most) = self.batch_bytes_max(endpoint) {
            offered.batch_size = offered.batch_size.min(most);
            if offered.options.low_latency {
                Arc::make_mut(&mut offered.options).low_latency = false;
            }
        }
        offered
    }

    /// Returns the peer's address of an accepted socket that came from `from`.
    pub(crate) fn remote(self, from: Option<SocketAddr>) -> LinkAddress {
        match from {
            Some(from) => LinkAddress::internet(self, from),
            #[cfg(unix)]
            None => unix::nameless(self),
            #[cfg(not(unix))]
            None => LinkAddress::named(self, "unknown"),
        }
    }

    /// Returns the peer's address of an accepted socket that came from `from`, or whose own call
    /// returns it.
    pub(crate) fn peer(self, socket: &Socket, from: Option<SocketAddr>) -> LinkAddress {
        #[cfg(target_os = "linux")]
        if self == Protocol::Vsock
            && let Some(peer) = vsock::remote(socket)
        {
            return peer;
        }
        #[cfg(not(target_os = "linux"))]
        let _ = socket;
        self.remote(from)
    }

    /// Prepares an accepted socket after the handshake of its peer; returns this end's address.
    pub(crate) fn accept(
        self,
        stream: &LinkStream,
        endpoint: &Endpoint,
        listener: &LinkAddress,
    ) -> io::Result<LinkAddress> {
        match self {
            #[cfg(unix)]
            Protocol::Serial => Ok(listener.clone()),
            Protocol::Tcp | Protocol::Tls | Protocol::Ws | Protocol::Wss => {
                Ok(tcp::accept(stream, endpoint, listener)?.over(self))
            }
            // The accept loop does not accept these one by one.
            Protocol::Udp | Protocol::Quic => Ok(listener.clone()),
            #[cfg(target_os = "linux")]
            Protocol::Unixpipe => Ok(listener.clone()),
            #[cfg(unix)]
            Protocol::UnixsockStream => Ok(listener.clone()),
            #[cfg(target_os = "linux")]
            Protocol::Vsock => {
                Ok(vsock::local(stream.socket()).unwrap_or_else(|| listener.clone()))
            }
        }
    }
}

/// Connects to an endpoint: one attempt.
pub(crate) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    match Protocol::of(terms.endpoint)? {
        Protocol::Quic => Box::pin(quic::connect(runtime, terms)).await,
        #[cfg(unix)]
        Protocol::Serial => Box::pin(serial::connect(runtime, terms)).await,
        Protocol::Tcp => tcp::connect(runtime, terms, terms.links.tcp).await,
        Protocol::Tls => Box::pin(tls::connect(runtime, terms)).await,
        Protocol::Udp => Box::pin(udp::connect(runtime, terms)).await,
        #[cfg(target_os = "linux")]
        Protocol::Unixpipe => Box::pin(unixpipe::connect(runtime, terms)).await,
        #[cfg(unix)]
        Protocol::UnixsockStream => unix::connect(runtime, terms).await,
        #[cfg(target_os = "linux")]
        Protocol::Vsock => Box::pin(vsock::connect(runtime, terms)).await,
        Protocol::Ws => Box::pin(ws::connect(runtime, terms)).await,
        Protocol::Wss => Box::pin(wss::connect(runtime, terms)).await,
    }
}

/// Binds every address of an endpoint.
///
/// # Blocking
/// Only for the addresses of a host name, until the deadline.
pub(crate) fn bind<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    match Protocol::of(terms.endpoint)? {
        Protocol::Quic => quic::bind(runtime, terms),
        #[cfg(unix)]
        Protocol::Serial => serial::bind(runtime, terms),
        Protocol::Tcp => tcp::bind(runtime, terms, terms.links.tcp),
        Protocol::Tls => tls::bind(runtime, terms),
        Protocol::Udp => udp::bind(runtime, terms),
        #[cfg(target_os = "linux")]
        Protocol::Unixpipe => unixpipe::bind(terms),
        #[cfg(unix)]
        Protocol::UnixsockStream => unix::bind(terms),
        #[cfg(target_os = "linux")]
        Protocol::Vsock => vsock::bind(terms),
        Protocol::Ws => ws::bind(runtime, terms),
        Protocol::Wss => wss::bind(runtime, terms),
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Fault of an endpoint that is well formed as text. The caller puts the endpoint's name in front.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointProblem {
    /// There is no link of this kind.
    #[error("protocol \"{name}\" is not supported; use one of: {}", supported())]
    Protocol {
        /// The protocol's name in the endpoint.
        name: String,
    },
    /// This build has no links of this kind, and could have.
    #[error(
        "links of kind {protocol} are not in this build; build it with the feature `{feature}`"
    )]
    Feature {
        /// The kind of link.
        protocol: &'static str,
        /// Cargo feature that enables it.
        feature: &'static str,
    },
    /// The address is not `HOST:PORT`.
    #[error("address \"{address}\" {what}; write HOST:PORT, such as 127.0.0.1:7447 or [::1]:7447")]
    Address {
        /// The address in the endpoint.
        address: String,
        /// The fault in it.
        what: &'static str,
    },
    /// The address is a multicast group.
    #[error(
        "{address} is a multicast group, which no node connects to; put it into listen/endpoints of each member"
    )]
    Group {
        /// The address in the endpoint.
        address: String,
    },
    /// A client is configured for a multicast group.
    #[error("a client cannot be in a multicast group; set mode to peer or router")]
    ClientInGroup,
    /// The path of the address is not allowed for this kind of link.
    #[error("path \"{path}\" {what}; write {kind}/PATH, such as {kind}//run/zonda.sock")]
    Path {
        /// The kind of link.
        kind: &'static str,
        /// The path in the endpoint.
        path: String,
        /// The fault in it.
        what: &'static str,
    },
    /// The address is not `CID:PORT`.
    #[error("address \"{address}\" {what}; write CID:PORT, such as 2:7447 or VMADDR_CID_ANY:7447")]
    Cid {
        /// The address in the endpoint.
        address: String,
        /// The fault in it.
        what: &'static str,
    },
    /// Keys or certificates are missing, or cannot be used.
    #[error("{setting}{place} {problem}")]
    Credentials {
        /// Setting that names their place.
        setting: &'static str,
        /// The file, if they are in one, with a space in front.
        place: String,
        /// The fault in them.
        problem: String,
    },
    /// An option that the kind of link does not have, at least not in that part of an endpoint.
    #[error("option {option} {what}")]
    UnknownOption {
        /// Name of the option.
        option: String,
        /// Fault of the option, and the text to write instead.
        what: String,
    },
    /// The value of an option behind `#` is not allowed.
    #[error("option {key}={value} is invalid; write {expected}")]
    Option {
        /// The option's key.
        key: &'static str,
        /// The value found.
        value: String,
        /// The form of its values.
        expected: &'static str,
    },
}

/// True if this build has encrypted links.
pub const HAS_TLS: bool = tls::AVAILABLE;

fn supported() -> String {
    let names: Vec<_> = Protocol::ALL.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
