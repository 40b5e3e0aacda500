// SPDX-License-Identifier: MIT OR Apache-2.0
//! Acceptance by one call that also makes the connection non-blocking.

use std::io;
use std::net::SocketAddr;

use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::Socket;

/// Accepts one connection, with its address where the family has one.
pub(super) fn accept(listener: &Socket) -> io::Result<(Socket, Option<SocketAddr>)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (stream, from) = acceptfrom_with(listener, flags)?;
    let from = from.and_then(|from| SocketAddr::try_from(from).ok());
    Ok((stream.into(), from))
}
