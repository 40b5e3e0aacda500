// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stand-in for a protocol that is not compiled in.

use std::io;
use std::net::{SocketAddr, TcpStream};

use super::Wire;

/// Compile-time flag: the protocol is not compiled in.
pub const AVAILABLE: bool = false;

/// Fails: the protocol is not compiled in.
pub fn connect(_: TcpStream, _: SocketAddr, _: &[String]) -> io::Result<Wire> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Fails: the protocol is not compiled in.
pub fn accept(_: TcpStream, _: &[String]) -> io::Result<Wire> {
    Err(io::ErrorKind::Unsupported.into())
}
