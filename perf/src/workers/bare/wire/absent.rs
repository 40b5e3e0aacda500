// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands where a protocol is not compiled in.

use std::io;
use std::net::{SocketAddr, TcpStream};

use super::Wire;

/// It is not.
pub const AVAILABLE: bool = false;

/// Refuses.
pub fn connect(_: TcpStream, _: SocketAddr, _: &[String]) -> io::Result<Wire> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Refuses.
pub fn accept(_: TcpStream, _: &[String]) -> io::Result<Wire> {
    Err(io::ErrorKind::Unsupported.into())
}
