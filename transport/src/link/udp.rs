// SPDX-License-Identifier: MIT OR Apache-2.0
//! Datagrams: `udp/HOST:PORT`. A datagram is a batch, without its length. Only the handshake
//! repeats datagrams.
//!
//! Both ends have a socket of their own for each link, connected to the other end: the system
//! separates the links. Datagrams of peers that are not connected yet arrive at the listener, which
//! keeps no state of a peer until the peer returns the listener's cookie. The socket of a link has
//! the address that the peer has used, and earlier answers come from that address as well, even if
//! the listener has all addresses of the machine.

mod datagrams;
pub(super) mod group;
mod pace;

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Socket, Type};
use zonda_codec::Endpoint;
use zonda_runtime::Runtime;

pub(crate) use self::datagrams::{DATAGRAM_BYTES_MAX, Flow, HandBack, is_lost};
pub use self::datagrams::{Reading, Writing};
pub(in crate::link) use self::pace::PaceTimer;
use self::pace::Rate;

use super::stream::Coding;
use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, HostPort, LinkAddress, LinkFailure,
    LinkParameters, LinkStream, Protocol, ServerHandshake, SocketOptions, tcp,
};

/// Receive buffer of a socket, as far as the system permits: a message of a megabyte arrives in
/// seventeen datagrams at once, and those that do not fit are lost.
const RECEIVE_BYTES: usize = 4 * 1024 * 1024;

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    let host = HostPort::of(endpoint)?;
    let address = host.socket_address();
    if let Some(value) = endpoint.metadata().get("rel").filter(|value| *value != "0") {
        return Err(EndpointProblem::Option {
            key: "rel",
            value: value.to_owned(),
            expected: "rel=0: datagrams that are repeated until they arrive are not supported yet",
        });
    }
    Rate::of(endpoint)?;
    match address.is_some_and(|address| address.ip().is_multicast()) {
        true => group::GroupOptions::of(endpoint).map(drop),
        false => SocketOptions::of(endpoint).map(drop),
    }
}

/// Checks an endpoint with one other end, not a group.
fn check_unicast(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    check(endpoint)?;
    match group::is_group(endpoint) {
        true => Err(EndpointProblem::Group {
            address: endpoint.address().as_str().to_owned(),
        }),
        false => Ok(()),
    }
}

fn internet(at: SocketAddr) -> LinkAddress {
    LinkAddress::internet(Protocol::Udp, at)
}

/// Returns a datagram socket for this address, not bound yet.
pub(super) fn socket_for(at: SocketAddr, options: &SocketOptions) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, None)?;
    if options.receive_buffer_bytes.is_none() {
        socket.set_recv_buffer_size(RECEIVE_BYTES)?;
    }
    options.apply(&socket)?;
    Ok(socket)
}

/// Returns the address that a socket is bound to.
pub(super) fn local_address(socket: &Socket) -> io::Result<SocketAddr> {
    let address = socket.local_addr()?.as_socket();
    address.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Makes a socket for the first address of the endpoint's host. Only a later answer shows that a
/// node is there.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<ConnectedSocket, LinkFailure> {
    check_unicast(terms.endpoint)?;
    let options = SocketOptions::of(terms.endpoint)?;
    let rate = Rate::of(terms.endpoint)?;
    let HostPort { host, port } = HostPort::of(terms.endpoint)?;
    let search = runtime.resolve(host.clone(), port);
    let found = runtime.timeout_at(terms.deadline, search).await;
    let addresses = found.ok_or(LinkFailure::Expired)?;
    let addresses = addresses.map_err(|error| LinkFailure::Resolve {
        host,
        failure: error.into(),
    })?;
    let mut failures = Vec::new();
    for to in addresses {
        match connect_to(to, &options, rate) {
            Ok(connected) => return Ok(connected),
            Err(error) => failures.push((internet(to), error.into())),
        }
    }
    Err(LinkFailure::Refused(failures))
}

fn connect_to(to: SocketAddr, options: &SocketOptions, rate: Rate) -> io::Result<ConnectedSocket> {
    let socket = socket_for(to, options)?;
    if let Some(from) = options.bind {
        socket.bind(&from.into())?;
    }
    socket.connect(&to.into())?;
    socket.set_nonblocking(true)?;
    Ok(ConnectedSocket {
        local: internet(local_address(&socket)?),
        remote: internet(to),
        stream: LinkStream::coded(socket, Coding::Datagrams(Flow::dialled(rate))),
    })
}

/// Binds every address of the endpoint's host.
pub(super) fn bind<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    check_unicast(terms.endpoint)?;
    let options = SocketOptions::of(terms.endpoint)?;
    tcp::bind_each(runtime, terms, &|at| {
        // A second listener is refused, as this one shares its address only while it makes a socket
        // for a link.
        let socket = tcp::everywhere(at, |at, dual_stack| {
            let socket = socket_for(at, &options)?;
            if dual_stack {
                socket.set_only_v6(false)?;
            }
            socket.bind(&at.into())?;
            Ok(socket)
        })?;
        Ok(BoundSocket {
            address: internet(local_address(&socket)?),
            socket,
            belongings: None,
            entrance: ServerHandshake::Open,
        })
    })
}

/// Pair of addresses of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AddressPair {
    /// Address of the sender.
    pub(crate) from: SocketAddr,
    /// Address of the listener that the datagram was sent to; `None` where the listener has only
    /// one.
    asked: Option<IpAddr>,
}

/// Datagrams of one length that arrived by one system call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceivedRun {
    pub(crate) way: AddressPair,
    /// Bytes of all datagrams.
    pub(crate) bytes: usize,
    /// Bytes of each datagram but the last.
    pub(crate) length: usize,
}

/// Second handle of a listening socket, in addition to the runtime's: it answers peers that are not
/// connected, and makes the sockets of those that are.
#[derive(Debug)]
pub(crate) struct UdpListenerHandle {
    socket: UdpSocket,
    state: UdpSocketState,
    /// Set if the socket has all addresses of the machine.
    is_wildcard: bool,
    options: SocketOptions,
    rate: Rate,
}

impl UdpListenerHandle {
    /// Buffer size for any datagram, or many short ones at once.
    pub(crate) const ROOM: usize = 65_536;

    /// Duplicates a listening socket.
    ///
    /// # Errors
    /// The operating system's, if it has no descriptor left.
    pub(crate) fn beside(listener: &Socket, endpoint: &Endpoint) -> io::Result<UdpListenerHandle> {
        let socket = UdpSocket::from(listener.try_clone()?);
        Ok(UdpListenerHandle {
            state: UdpSocketState::new((&socket).into())?,
            is_wildcard: socket.local_addr()?.ip().is_unspecified(),
            socket,
            // The options were checked when the socket was bound.
            options: SocketOptions::of(endpoint).unwrap_or_default(),
            rate: Rate::of(endpoint).unwrap_or_default(),
        })
    }

    /// Receives datagrams of a peer that is not connected.
    ///
    /// # Errors
    /// The errors of the system; [`io::ErrorKind::WouldBlock`] when there is none.
    pub(crate) fn receive(&self, into: &mut [u8]) -> io::Result<ReceivedRun> {
        let mut meta = [RecvMeta::default()];
        let mut rooms = [IoSliceMut::new(into)];
        self.state
            .recv((&self.socket).into(), &mut rooms, &mut meta)?;
        let [meta] = meta;
        Ok(ReceivedRun {
            way: AddressPair {
                from: meta.addr,
                asked: meta.dst_ip.filter(|_| self.is_wildcard),
            },
            bytes: meta.len,
            length: meta.stride.max(1),
        })
    }

    /// Sends a datagram to a peer that is not connected, from the address that the peer has used.
    /// It may get lost.
    pub(crate) fn say(&self, datagram: &[u8], way: AddressPair) {
        let transmit = Transmit {
            destination: way.from,
            ecn: None,
            contents: datagram,
            segment_size: None,
            src_ip: way.asked,
        };
        let socket = (&self.socket).into();
        if !datagram.is_empty()
            && let Err(error) = self.state.try_send(socket, &transmit)
        {
            tracing::debug!("cannot send to {}: {error}", way.from);
        }
    }

    /// Returns the address for the socket of a link.
    fn address(&self, way: AddressPair) -> io::Result<SocketAddr> {
        let mut at = self.socket.local_addr()?;
        if let Some(asked) = way.asked {
            at.set_ip(asked);
        }
        // An address with a scope is used with the interface of its peer.
        if let (SocketAddr::V6(at), SocketAddr::V6(from)) = (&mut at, way.from) {
            at.set_scope_id(from.scope_id());
        }
        Ok(at)
    }

    /// Creates a link over a socket that is connected to an admitted peer.
    ///
    /// # Errors
    /// The system's, if it has no descriptor left.
    pub(crate) fn accepted(
        &self,
        socket: Socket,
        hand_back: HandBack,
    ) -> io::Result<(LinkStream, LinkAddress, Arc<Flow>)> {
        let local = internet(local_address(&socket)?);
        let flow = Flow::accepted(socket.try_clone()?, hand_back, self.rate);
        let coding = Coding::Datagrams(Arc::clone(&flow));
        Ok((LinkStream::coded(socket, coding), local, flow))
    }

    /// Makes a socket with the address that the peer has used, connected to the peer. Before it is
    /// connected, it may receive datagrams of other peers, which are passed to `astray`. Called by
    /// one thread at a time.
    ///
    /// # Errors
    /// The errors of the system.
    pub(crate) fn connect(
        &self,
        way: AddressPair,
        mut astray: impl FnMut(&[u8], AddressPair),
    ) -> io::Result<Socket> {
        // Make a socket with the options of the listener.
        let at = self.address(way)?;
        let socket = socket_for(at, &self.options)?;
        let listener = socket2::SockRef::from(&self.socket);
        if at.is_ipv6() {
            socket.set_only_v6(listener.only_v6()?)?;
        }
        // Share the listener's address only for the moment of the bind.
        share(&socket, true)?;
        share(&listener, true)?;
        let bound = socket.bind(&at.into());
        share(&listener, false)?;
        bound?;
        // Connect the socket to the peer.
        socket.connect(&way.from.into())?;
        socket.set_nonblocking(true)?;
        let socket: UdpSocket = socket.into();
        // Pass on datagrams of other peers that arrived in between.
        let mut datagram = [0; 2048];
        while let Ok((count, from)) = socket.recv_from(&mut datagram) {
            if from == way.from {
                break;
            }
            astray(&datagram[..count], AddressPair { from, ..way });
        }
        Ok(socket.into())
    }
}

/// Allows or forbids other sockets with the same address.
#[cfg(unix)]
fn share(socket: &Socket, shared: bool) -> io::Result<()> {
    socket.set_reuse_port(shared)
}

/// Allows or forbids other sockets with the same address, on systems with one option for both.
#[cfg(not(unix))]
fn share(socket: &Socket, shared: bool) -> io::Result<()> {
    socket.set_reuse_address(shared)
}

#[cfg(test)]
mod tests;
