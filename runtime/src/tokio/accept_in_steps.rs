// SPDX-License-Identifier: MIT OR Apache-2.0
//! Acceptance in two calls, where no single call makes the connection non-blocking.

use std::io;
use std::net::SocketAddr;

use socket2::Socket;

/// Accepts one connection, with its address where the family has one.
pub(super) fn accept(listener: &Socket) -> io::Result<(Socket, Option<SocketAddr>)> {
    let (stream, from) = listener.accept()?;
    stream.set_nonblocking(true)?;
    Ok((stream, from.as_socket()))
}
