// SPDX-License-Identifier: MIT OR Apache-2.0
//! Address `HOST:PORT` of every kind of link over the internet protocol.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use zonda_codec::Endpoint;

use super::EndpointProblem;

/// Host, by name or by address, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Host name, IPv4 address or IPv6 address without its brackets.
    pub host: String,
    /// Port; 0 lets the system choose when listening.
    pub port: u16,
}

impl HostPort {
    /// Parses the address of an endpoint: `192.168.0.1:7447`, `[::1]:7447`, `[fe80::1%eth0]:7447` or `name:7447`.
    ///
    /// # Errors
    /// [`EndpointProblem::Address`] with what is wrong.
    pub fn of(endpoint: &Endpoint) -> Result<HostPort, EndpointProblem> {
        HostPort::parse(endpoint.address().as_str())
    }

    fn parse(address: &str) -> Result<HostPort, EndpointProblem> {
        let problem = |what| EndpointProblem::Address {
            address: address.to_owned(),
            what,
        };
        let (host, port) = address
            .rsplit_once(':')
            .ok_or_else(|| problem("has no port"))?;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest
                .strip_suffix(']')
                .ok_or_else(|| problem("has no \"]\" before its port"))?,
            None if host.contains(':') => {
                return Err(problem("is an IPv6 address without brackets"));
            }
            None => host,
        };
        if host.is_empty() {
            return Err(problem("has no host"));
        }
        // `parse` would accept a sign as well.
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port
            .parse()
            .ok()
            .filter(|_| digits)
            .ok_or_else(|| problem("has a port outside 0..=65535"))?;
        Ok(HostPort {
            host: host.to_owned(),
            port,
        })
    }

    /// Returns the socket address, if the host is an address and not a name.
    pub fn socket_address(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(
            self.host.parse::<IpAddr>().ok()?,
            self.port,
        ))
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}
