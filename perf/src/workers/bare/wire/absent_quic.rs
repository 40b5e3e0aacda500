// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stand-in for QUIC where it is not compiled in.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use super::Wire;

/// Compile-time flag: QUIC is not compiled in.
pub const AVAILABLE: bool = false;

/// A listener without values.
pub struct QuicListener(Infallible);

/// Fails: QUIC is not compiled in.
pub fn bind(_: SocketAddr, _: &[String]) -> io::Result<QuicListener> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Fails: QUIC is not compiled in.
pub fn connect(_: SocketAddr, _: &[String]) -> io::Result<Wire> {
    Err(io::ErrorKind::Unsupported.into())
}

impl QuicListener {
    /// Never called: no value exists.
    pub fn address(&self) -> io::Result<SocketAddr> {
        match self.0 {}
    }

    /// Never called: no value exists.
    pub fn accept(&self) -> io::Result<Wire> {
        match self.0 {}
    }
}
