// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP: `tcp/HOST:PORT`. Host names are resolved, and the addresses of both families tried in turn.
//!
//! The reference sets SO_LINGER to 10 s. Here it is left off: on Linux `close` of a lingering socket blocks the calling
//! thread until the peer has acknowledged everything, also when the socket is non-blocking (3 s measured against a peer
//! that does not read, with a linger of 3 s), and that thread would be one of the runtime's. Without it the kernel
//! delivers what is queued in the background, and a peer cannot tell the difference.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use socket2::{Domain, SockRef, Socket, Type};
use zonda_codec::Endpoint;
use zonda_runtime::{Runtime, block_on_until};

use super::{
    BoundSocket, ConnectedSocket, EndpointProblem, HostPort, IoFailure, LinkAddress, LinkFailure,
    LinkParameters, LinkStream, Protocol, ServerHandshake, SocketBuffers, SocketOptions, pacing,
};

/// Maximum number of connections that wait to be accepted, as far as the system allows (Linux:
/// `net.core.somaxconn`). Large, so that the kernel does not drop an honest peer's SYN in a burst
/// of connections, which would cost the peer a second.
const BACKLOG: i32 = 4096;

/// Minimum share of the remaining time for each address, however many addresses a host has.
const ATTEMPT_MIN: Duration = Duration::from_millis(500);

pub(super) fn check(endpoint: &Endpoint) -> Result<(), EndpointProblem> {
    HostPort::of(endpoint)?;
    SocketOptions::of(endpoint).map(drop)
}

fn internet(at: SocketAddr) -> LinkAddress {
    LinkAddress::internet(Protocol::Tcp, at)
}

/// Connects to the first address of the endpoint's host that accepts.
pub(super) async fn connect<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
    buffers: SocketBuffers,
) -> Result<ConnectedSocket, LinkFailure> {
    // Read the options and resolve the host.
    let deadline = terms.deadline;
    let options = SocketOptions::of(terms.endpoint)?.or(buffers);
    let HostPort { host, port } = HostPort::of(terms.endpoint)?;
    let found = runtime
        .timeout_at(deadline, runtime.resolve(host.clone(), port))
        .await;
    let addresses = found
        .ok_or(LinkFailure::Expired)?
        .map_err(|error| LinkFailure::Resolve {
            host,
            failure: error.into(),
        })?;
    let addresses = alternate(addresses);
    // Try the addresses in turn, each for its share of the time.
    let mut failures = Vec::new();
    for (index, &address) in addresses.iter().enumerate() {
        let bound = share(Instant::now(), deadline, addresses.len() - index);
        match runtime
            .timeout_at(bound, connect_to(runtime, address, &options))
            .await
        {
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(error)) => failures.push((internet(address), error.into())),
            None if Instant::now() >= deadline => return Err(LinkFailure::Expired),
            None => {
                let error = io::Error::from(io::ErrorKind::TimedOut);
                failures.push((internet(address), error.into()));
            }
        }
    }
    Err(LinkFailure::Refused(failures))
}

async fn connect_to<R: Runtime>(
    runtime: &R,
    to: SocketAddr,
    options: &SocketOptions,
) -> io::Result<ConnectedSocket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    options.apply(&socket)?;
    if to.ip().is_loopback() {
        pacing::begin_unpaced(SockRef::from(&socket));
    }
    if let Some(from) = options.bind {
        socket.bind(&from.into())?;
    }
    let stream = runtime.connect(socket, to).await?;
    prepare(&stream, options)?;
    let ends = Ends::of(&stream)?;
    Ok(ConnectedSocket {
        stream: stream.into(),
        local: internet(ends.local),
        remote: internet(ends.peer),
    })
}

/// Addresses of a connected socket.
struct Ends {
    local: SocketAddr,
    peer: SocketAddr,
}

impl Ends {
    fn of(socket: &Socket) -> io::Result<Ends> {
        let (local, peer) = (socket.local_addr()?, socket.peer_addr()?);
        let ends = local.as_socket().zip(peer.as_socket());
        let (local, peer) = ends.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Ends { local, peer })
    }
}

/// Orders the addresses by alternating families, beginning with the resolver's first: when one
/// family is unreachable, as IPv6 may be, the next attempt uses the other.
pub(super) fn alternate(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == first_is_v6);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut mixed = Vec::new();
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            return mixed;
        }
        mixed.extend(pair.into_iter().flatten());
    }
}

/// Returns the deadline for one of the `left` remaining addresses: its share of the time, all of it
/// for the last.
pub(super) fn share(now: Instant, deadline: Instant, left: usize) -> Instant {
    let total = deadline.saturating_duration_since(now);
    let parts = u32::try_from(left.max(1)).unwrap_or(u32::MAX);
    now + (total / parts).max(ATTEMPT_MIN).min(total)
}

/// Maximum bytes that the system holds unsent: an urgent message has to wait for them. The window
/// of unacknowledged bytes still grows beyond it. Without a limit 4 MB were seen waiting.
const UNSENT_BYTES_MAX: u32 = 128 * 1024;

/// Limit of unsent bytes for an encrypted stream within the machine. Its ends work several times as
/// long on each message, so with less the socket becomes empty or full between two of them: each
/// end sleeps and is woken for every few messages, which cost a fifth of the throughput.
#[cfg(feature = "tls")]
const SAME_HOST_ENCRYPTED_UNSENT_BYTES_MAX: u32 = 512 * 1024;

/// Size of a receive buffer that the same machine fills, unless the endpoint sets one. Such a path
/// holds no bytes itself: a larger buffer makes it no faster, and an urgent message has to wait for
/// all bytes in it (with the system's own sizing up to 32 MB).
const SAME_HOST_RECEIVE_BYTES: usize = 256 * 1024;

/// Sets the options of every connected socket: no delay of small packets, few bytes waiting in the
/// system, no pacing within the machine.
///
/// # Errors
/// The errors of the system, as when the peer is gone already.
fn prepare(socket: &Socket, options: &SocketOptions) -> io::Result<()> {
    limit_unsent(socket, UNSENT_BYTES_MAX);
    let is_same_host = is_same_host(socket);
    if options.receive_buffer_bytes.is_none() && is_same_host {
        socket.set_recv_buffer_size(SAME_HOST_RECEIVE_BYTES)?;
    }
    pacing::decide(SockRef::from(socket), is_same_host);
    socket.set_tcp_nodelay(true)
}

/// Sets the additional options of a connected socket with encryption.
#[cfg(feature = "tls")]
pub(super) fn prepare_encrypted(socket: &Socket) {
    if is_same_host(socket) {
        limit_unsent(socket, SAME_HOST_ENCRYPTED_UNSENT_BYTES_MAX);
    }
}

#[cfg(target_os = "linux")]
fn limit_unsent(socket: &Socket, bytes: u32) {
    if let Err(error) = socket.set_tcp_notsent_lowat(bytes) {
        // Urgent messages wait longer then; there is no other effect.
        tracing::debug!("this system does not limit the bytes that wait to be sent: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
fn limit_unsent(_socket: &Socket, _bytes: u32) {}

fn is_same_host(socket: &Socket) -> bool {
    match Ends::of(socket) {
        Ok(Ends { local, peer }) => peer.ip().is_loopback() || peer.ip() == local.ip(),
        // The peer is gone already.
        Err(_) => false,
    }
}

pub(super) fn accept(
    stream: &LinkStream,
    endpoint: &Endpoint,
    listener: &LinkAddress,
) -> io::Result<LinkAddress> {
    let stream = stream.socket();
    // The options were checked when the socket was bound.
    let options = SocketOptions::of(endpoint).unwrap_or_default();
    prepare(stream, &options)?;
    let own = Ends::of(stream).map(|ends| internet(ends.local));
    Ok(own.unwrap_or_else(|_| listener.clone()))
}

/// Binds every address of the endpoint's host. Addresses of a name that this machine lacks are left
/// out, if any remains.
pub(super) fn bind<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
    buffers: SocketBuffers,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    let options = SocketOptions::of(terms.endpoint)?.or(buffers);
    bind_each(runtime, terms, &|at| bind_to(at, &options))
}

/// Binds each address of the endpoint's host by `bind_to`, like [`bind`].
pub(super) fn bind_each<R: Runtime>(
    runtime: &R,
    terms: &LinkParameters<'_>,
    bind_to: &dyn Fn(SocketAddr) -> io::Result<BoundSocket>,
) -> Result<Vec<BoundSocket>, LinkFailure> {
    // Resolve the host, unless it is an address.
    let host = HostPort::of(terms.endpoint)?;
    let addresses = match host.socket_address() {
        Some(address) => vec![address],
        None => look_up(runtime, host, terms.deadline)?,
    };
    // Bind the addresses, and leave out those that this machine lacks.
    let (mut bound, mut absent) = (Vec::new(), None);
    for address in addresses {
        match bind_to(address) {
            Ok(found) => bound.push(found),
            Err(error) => {
                let is_absent = lacks_address(&error);
                let failure = LinkFailure::Refused(vec![(internet(address), error.into())]);
                if !is_absent {
                    return Err(failure);
                }
                absent = absent.or(Some(failure));
            }
        }
    }
    // It is an error if no address remains.
    match absent {
        Some(failure) if bound.is_empty() => Err(failure),
        _ => Ok(bound),
    }
}

fn look_up<R: Runtime>(
    runtime: &R,
    host: HostPort,
    deadline: Instant,
) -> Result<Vec<SocketAddr>, LinkFailure> {
    let search = runtime.resolve(host.host.clone(), host.port);
    let found = block_on_until(deadline, search);
    found
        .unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
        .map_err(|error| LinkFailure::Resolve {
            host: host.host,
            failure: IoFailure::from(error),
        })
}

/// Binds and listens. `[::]` accepts IPv4 as well, and becomes `0.0.0.0` on a system without IPv6.
fn bind_to(at: SocketAddr, options: &SocketOptions) -> io::Result<BoundSocket> {
    let socket = everywhere(at, |at, dual_stack| bind_socket(at, dual_stack, options))?;
    let address = socket.local_addr()?.as_socket();
    Ok(BoundSocket {
        address: internet(address.ok_or(io::ErrorKind::InvalidInput)?),
        socket,
        belongings: None,
        entrance: ServerHandshake::Open,
    })
}

/// Makes a socket for an address by `bind`, for `[::]` one of both families (true), and for
/// `0.0.0.0` on a system without IPv6.
pub(super) fn everywhere(
    at: SocketAddr,
    bind: impl Fn(SocketAddr, bool) -> io::Result<Socket>,
) -> io::Result<Socket> {
    let everywhere = at.is_ipv6() && at.ip().is_unspecified();
    match bind(at, everywhere) {
        Err(error) if everywhere && lacks_address(&error) => {
            tracing::debug!("no IPv6 here ({error}): listening on 0.0.0.0 instead of [::]");
            bind((Ipv4Addr::UNSPECIFIED, at.port()).into(), false)
        }
        result => result,
    }
}

fn bind_socket(at: SocketAddr, dual_stack: bool, options: &SocketOptions) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    // On Unix this permits binding while old connections of the port linger; elsewhere it would permit stealing it.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    if dual_stack {
        socket.set_only_v6(false)?;
    }
    options.apply(&socket)?;
    pacing::begin_unpaced(SockRef::from(&socket));
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Returns true if this machine has no such address, or no addresses of that family at all.
pub(super) fn lacks_address(error: &io::Error) -> bool {
    // EAFNOSUPPORT has no kind of its own in the standard library.
    let unsupported = cfg!(target_os = "linux") && error.raw_os_error() == Some(97);
    unsupported
        || matches!(
            error.kind(),
            io::ErrorKind::Unsupported | io::ErrorKind::AddrNotAvailable
        )
}

#[cfg(test)]
mod tests;
