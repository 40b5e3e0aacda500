// SPDX-License-Identifier: MIT OR Apache-2.0
//! Disabled pacing between two programs of one machine.
//!
//! A system whose congestion control is BBR spreads the packets of a socket over time by a timer,
//! which serves a network. On one machine there is no network, and the timers cost a third of the
//! throughput of a stream of 64 KiB messages. Links within the machine therefore use Reno, which
//! every Linux has and permits to every process, and which does not pace. Where the system does not
//! pace, these functions change nothing.
//!
//! A socket that was paced once stays so, whatever is set later. A connecting socket is therefore
//! set up before it connects, and a listening one before the first connection, whose socket
//! inherits the setting; sockets with peers on other machines are then reset to the system's
//! congestion control.

use socket2::SockRef;

/// Congestion control used within the machine.
#[cfg(target_os = "linux")]
const UNPACED: &[u8] = b"reno";

/// Disables pacing on a socket that is neither connected nor listening, and on the sockets accepted
/// from it.
#[cfg(target_os = "linux")]
pub(super) fn begin_unpaced(socket: SockRef<'_>) {
    if paces(&socket).is_some() {
        set(&socket, UNPACED);
    }
}

/// Adjusts a socket accepted from such a listener: sets the system's congestion control if the peer
/// is on another machine. A socket within the machine that connected before this was known is at
/// least paced less.
#[cfg(target_os = "linux")]
pub(super) fn decide(socket: SockRef<'_>, is_same_host: bool) {
    use socket2::{Socket, Type};

    if is_same_host {
        return begin_unpaced(socket);
    }
    if name(&socket).is_none_or(|name| name != UNPACED) {
        return;
    }
    // A socket without options shows the system's default.
    let domain = socket.domain();
    let system = domain.and_then(|domain| Socket::new(domain, Type::STREAM, None));
    if let Some(own) = system.ok().and_then(|fresh| paces(&SockRef::from(&fresh))) {
        set(&socket, &own);
    }
}

/// Returns the name of the socket's congestion control, if it is one that paces.
#[cfg(target_os = "linux")]
fn paces(socket: &SockRef<'_>) -> Option<Vec<u8>> {
    name(socket).filter(|name| name.starts_with(b"bbr"))
}

#[cfg(target_os = "linux")]
fn name(socket: &SockRef<'_>) -> Option<Vec<u8>> {
    let mut name = socket.tcp_congestion().ok()?;
    // The system fills the rest of its sixteen bytes with zeros.
    name.retain(|&byte| byte != 0);
    Some(name)
}

#[cfg(target_os = "linux")]
fn set(socket: &SockRef<'_>, name: &[u8]) {
    if let Err(error) = socket.set_tcp_congestion(name) {
        // The link works without it, only slower.
        let name = String::from_utf8_lossy(name);
        tracing::debug!("this system does not permit congestion control {name}: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn begin_unpaced(_socket: SockRef<'_>) {}

#[cfg(not(target_os = "linux"))]
pub(super) fn decide(_socket: SockRef<'_>, _is_same_host: bool) {}
