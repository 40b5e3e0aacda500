// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP sockets: made, given their options, connected and bound.
//!
//! The reference sets SO_LINGER to 10 s. Here it is left off: on Linux `close` of a lingering socket blocks the calling
//! thread until the peer has acknowledged everything, also when the socket is non-blocking (3 s measured against a peer
//! that does not read, with a linger of 3 s), and that thread would be one of the runtime's. Without it the kernel
//! delivers what is queued in the background, and a peer cannot tell the difference.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use socket2::{Domain, SockRef, Socket, Type};
use zonda_runtime::Runtime;

use super::{SocketOptions, pacing};

/// How many connections may wait to be accepted, as far as the system allows (Linux: `net.core.somaxconn`). Large, so
/// that a burst of strangers does not make the kernel drop an honest peer's SYN, which would cost it a second.
const BACKLOG: i32 = 4096;

/// Connects to one address.
///
/// # Errors
/// Those of the system, also for an option that it refuses.
pub async fn connect<R: Runtime>(
    runtime: &R,
    to: SocketAddr,
    options: &SocketOptions,
) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    options.apply(&socket)?;
    if to.ip().is_loopback() {
        pacing::begin_unpaced(SockRef::from(&socket));
    }
    if let Some(from) = options.bind {
        socket.bind(&from.into())?;
    }
    let stream = runtime.connect_socket(socket.into(), to).await?;
    prepare(&stream, options)?;
    Ok(stream)
}

/// How much the system may hold that it has not sent: what is urgent has to wait for it. The window of what is sent and not
/// acknowledged grows beyond it as it should. Without a limit 4 MB were seen waiting.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 128 * 1024;

/// How much may wait in a receive buffer that the same machine fills, unless the endpoint says otherwise. Such a path holds
/// nothing itself: a larger buffer makes it no faster, and what is urgent has to wait for all that is in there (with the
/// system's own sizing up to 32 MB).
const SAME_HOST_RECEIVE_BYTES: usize = 256 * 1024;

/// Sets what every connected socket has: no delay of small packets, little waiting in the system, no pacing within the
/// machine.
///
/// # Errors
/// Those of the system, as when the peer is gone already.
pub fn prepare(stream: &TcpStream, options: &SocketOptions) -> io::Result<()> {
    let socket = SockRef::from(stream);
    #[cfg(target_os = "linux")]
    if let Err(error) = socket.set_tcp_notsent_lowat(UNSENT_BYTES_MAX) {
        // Urgent messages wait longer then, and nothing else changes.
        tracing::debug!("this system does not limit what waits to be sent: {error}");
    }
    let is_same_host = is_same_host(stream);
    if options.receive_buffer_bytes.is_none() && is_same_host {
        socket.set_recv_buffer_size(SAME_HOST_RECEIVE_BYTES)?;
    }
    pacing::decide(SockRef::from(stream), is_same_host);
    socket.set_tcp_nodelay(true)
}

fn is_same_host(stream: &TcpStream) -> bool {
    match (stream.local_addr(), stream.peer_addr()) {
        (Ok(local), Ok(peer)) => peer.ip().is_loopback() || peer.ip() == local.ip(),
        // It is gone already.
        _ => false,
    }
}

/// Binds and listens. `[::]` accepts IPv4 as well, and becomes `0.0.0.0` on a system without IPv6.
///
/// # Errors
/// Those of the system, also for an option that it refuses.
pub fn bind(at: SocketAddr, options: &SocketOptions) -> io::Result<TcpListener> {
    let everywhere = at.is_ipv6() && at.ip().is_unspecified();
    match bind_socket(at, everywhere, options) {
        Err(error) if everywhere && lacks_address(&error) => {
            tracing::debug!("no IPv6 here ({error}): listening on 0.0.0.0 instead of [::]");
            bind_socket((Ipv4Addr::UNSPECIFIED, at.port()).into(), false, options)
        }
        result => result,
    }
}

fn bind_socket(
    at: SocketAddr,
    dual_stack: bool,
    options: &SocketOptions,
) -> io::Result<TcpListener> {
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
    Ok(socket.into())
}

/// Whether this machine has no such address, or no addresses of that family at all.
pub fn lacks_address(error: &io::Error) -> bool {
    // EAFNOSUPPORT has no kind of its own in the standard library.
    let unsupported = cfg!(target_os = "linux") && error.raw_os_error() == Some(97);
    unsupported
        || matches!(
            error.kind(),
            io::ErrorKind::Unsupported | io::ErrorKind::AddrNotAvailable
        )
}
