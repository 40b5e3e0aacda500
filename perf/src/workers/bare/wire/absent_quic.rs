// SPDX-License-Identifier: MIT OR Apache-2.0
//! What stands where QUIC is not compiled in.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use super::Wire;

/// It is not.
pub const AVAILABLE: bool = false;

/// There is none.
pub struct Door(Infallible);

/// Refuses.
pub fn bind(_: SocketAddr, _: &[String]) -> io::Result<Door> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Refuses.
pub fn connect(_: SocketAddr, _: &[String]) -> io::Result<Wire> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Door {
    /// Never asked.
    pub fn address(&self) -> io::Result<SocketAddr> {
        match self.0 {}
    }

    /// Never asked.
    pub fn accept(&self) -> io::Result<Wire> {
        match self.0 {}
    }
}
