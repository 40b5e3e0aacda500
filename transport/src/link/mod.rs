// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links: the kinds of connection between two nodes, each in a file of its own, and what an endpoint asks of them.
//!
//! An endpoint's protocol name chooses the file, by one `match` in the dialer and one in the listener. Host names,
//! ports and socket options mean the same for every kind that has them, so they are parsed here.

mod address;
mod failure;
mod group;
mod options;
mod pacing;
pub mod tcp;

use std::fmt;
use std::net::{SocketAddr, TcpStream};

use zonda_codec::Endpoint;

pub use address::HostPort;
pub use failure::IoFailure;
pub use group::AddressGroup;
pub(crate) use options::option;
pub use options::{SocketBuffers, SocketOptions};

use crate::protocol::parameters::Established;

/// An established link: the socket, and what its two ends agreed on.
#[derive(Debug)]
pub struct Link {
    /// The connected, non-blocking socket, registered with no runtime: the driver's task adopts it.
    pub stream: TcpStream,
    /// The outcome of the handshake.
    pub established: Established,
    /// The address of this end.
    pub local: SocketAddr,
    /// The address of the peer's end.
    pub remote: SocketAddr,
    /// Bytes that were read behind the handshake's last message; they come before anything read from `stream`.
    pub unread: Vec<u8>,
}

/// The kinds of link this build has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// `tcp/HOST:PORT`
    Tcp,
}

impl Protocol {
    /// Every kind.
    pub const ALL: [Protocol; 1] = [Protocol::Tcp];

    /// The name in front of an endpoint's address.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
        }
    }

    /// The kind that `endpoint` names.
    ///
    /// # Errors
    /// [`EndpointProblem::Protocol`] when this build has no such kind.
    pub fn of(endpoint: &Endpoint) -> Result<Protocol, EndpointProblem> {
        let name = endpoint.proto();
        Protocol::ALL
            .into_iter()
            .find(|protocol| protocol.name() == name)
            .ok_or_else(|| EndpointProblem::Protocol {
                name: name.to_owned(),
            })
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is wrong with an endpoint that is well formed as text. The caller names the endpoint in front of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointProblem {
    /// No link of this kind.
    #[error("protocol \"{name}\" is not supported; use one of: {}", supported())]
    Protocol {
        /// The protocol's name in the endpoint.
        name: String,
    },
    /// The address is not `HOST:PORT`.
    #[error("address \"{address}\" {what}; write HOST:PORT, such as 127.0.0.1:7447 or [::1]:7447")]
    Address {
        /// The address in the endpoint.
        address: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// An option behind `#` has a value that it cannot have.
    #[error("option {key}={value} is invalid; write {expected}")]
    Option {
        /// The option's key.
        key: &'static str,
        /// The value found.
        value: String,
        /// What values look like.
        expected: &'static str,
    },
}

fn supported() -> String {
    Protocol::ALL.map(Protocol::name).join(", ")
}

#[cfg(test)]
mod tests;
