// SPDX-License-Identifier: MIT OR Apache-2.0

//! Stub for a build without TLS for HTTP.

use std::io;

use tokio::net::TcpStream;
use zonda::Config;

/// The certificate of a server, of which there is none.
#[derive(Debug)]
pub enum Tls {}

impl Tls {
    /// Fails: this build has no TLS for HTTP.
    ///
    /// # Errors
    /// The cargo feature that is needed.
    pub fn load(_config: &Config) -> Result<Tls, String> {
        Err("this build has no TLS for HTTP (cargo feature `https`)".to_owned())
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn renew(&self, _config: &Config) -> Result<(), String> {
        match *self {}
    }

    /// Never called.
    pub(super) async fn accept(&self, _stream: TcpStream) -> io::Result<(TcpStream, bool)> {
        match *self {}
    }
}
