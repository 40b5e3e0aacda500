// SPDX-License-Identifier: MIT OR Apache-2.0
//! No pacing between two programs of one machine.
//!
//! A system whose congestion control is BBR spreads what a socket sends over time by a timer. That serves a network. On
//! one machine there is none to serve, and the timers cost a third of what a stream of 64 KiB messages could carry.
//! So links within the machine are left to Reno, which every Linux has and permits to everyone, and which paces
//! nothing. Where the system does not pace, nothing is changed.
//!
//! A socket that was paced once stays so, whatever is set later. Therefore a connecting socket is set up before it
//! connects, a listening one before anybody comes, whose sockets begin as it is; those of other machines are then given
//! the system's own.

use socket2::SockRef;

/// What is used within the machine.
#[cfg(target_os = "linux")]
const UNPACED: &[u8] = b"reno";

/// Has a socket that is neither connected nor listening, or the sockets of those who come to it, begin without pacing.
#[cfg(target_os = "linux")]
pub(super) fn begin_unpaced(socket: SockRef<'_>) {
    if paces(&socket).is_some() {
        set(&socket, UNPACED);
    }
}

/// What a connected socket needs that came to such a listener: the system's own, if its peer is elsewhere. Within the
/// machine one that connected before it was known to stay there is at least paced less.
#[cfg(target_os = "linux")]
pub(super) fn decide(socket: SockRef<'_>, is_same_host: bool) {
    use socket2::{Socket, Type};

    if is_same_host {
        return begin_unpaced(socket);
    }
    if name(&socket).is_none_or(|name| name != UNPACED) {
        return;
    }
    // A socket without options shows what the system would use.
    let domain = socket.domain();
    let system = domain.and_then(|domain| Socket::new(domain, Type::STREAM, None));
    if let Some(own) = system.ok().and_then(|fresh| paces(&SockRef::from(&fresh))) {
        set(&socket, &own);
    }
}

/// The name of the socket's congestion control, if it is one that paces.
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
        // It works all the same, only slower.
        let name = String::from_utf8_lossy(name);
        tracing::debug!("this system does not permit congestion control {name}: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn begin_unpaced(_socket: SockRef<'_>) {}

#[cfg(not(target_os = "linux"))]
pub(super) fn decide(_socket: SockRef<'_>, _is_same_host: bool) {}
