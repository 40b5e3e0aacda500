// SPDX-License-Identifier: MIT OR Apache-2.0

//! Causes of the end of a connection.

use crate::protocol::rx::CannotContinue;

/// Cause of the end of a connection, as passed to
/// [`Handler::closed`](crate::driver::Handler::closed).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Ended {
    /// This side closed the connection.
    #[error("closed by this node")]
    Local,
    /// The peer sent Close with this reason.
    #[error("closed by the peer{}", because(*.0))]
    Remote(u8),
    /// The task that drove the connection has ended with its runtime, or by a panic.
    #[error("the task that drove the connection has ended")]
    Abandoned,
    /// The peer shut the socket down without a Close.
    #[error("the peer hung up")]
    HungUp,
    /// The peer sent nothing for the lease it had announced.
    #[error("the peer was silent for its whole lease")]
    Expired,
    /// The certificate that the peer had shown has expired.
    #[error("the peer's certificate has expired (transport/link/tls/close_link_on_expiration)")]
    Outdated,
    /// The peer sent what the protocol does not allow.
    #[error("the peer broke the protocol: {0}")]
    Misbehaved(String),
    /// The peer took so little that the bytes queued for it exceeded their bound.
    #[error("slow consumer: the peer read too slowly for too long")]
    TooSlow,
    /// The node's memory was used up, and this peer kept the most of it, or had begun a message
    /// that there was no room for.
    #[error("the memory budget of the node is used up")]
    Memory,
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Io(std::io::ErrorKind),
}

/// Returns the text for a close reason of the protocol.
fn because(code: u8) -> String {
    use zonda_codec::transport::reason;
    match code {
        reason::GENERIC => String::new(),
        reason::UNRESPONSIVE => {
            ", for which this node was a slow consumer: it read too slowly".to_owned()
        }
        reason::EXPIRED => ", which had heard nothing for the whole lease".to_owned(),
        reason::MAX_LINKS => ", which has another link to this node".to_owned(),
        reason::MAX_SESSIONS => ", which has as many links as it may".to_owned(),
        code => format!(" with reason {code}"),
    }
}

impl Ended {
    /// Returns true if the peer has left: it sent Close, hung up, or its system answered with a
    /// reset.
    #[must_use]
    pub fn is_departure(&self) -> bool {
        use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
        match self {
            Ended::Remote(_) | Ended::HungUp => true,
            Ended::Io(kind) => matches!(
                kind,
                BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
            ),
            _ => false,
        }
    }
}

impl From<std::io::Error> for Ended {
    /// Converts the error of a link's reading. Bytes that the link's code cannot decode are the
    /// peer's fault.
    fn from(error: std::io::Error) -> Ended {
        match error.kind() {
            std::io::ErrorKind::InvalidData => Ended::Misbehaved(error.to_string()),
            kind => Ended::Io(kind),
        }
    }
}

impl From<CannotContinue> for Ended {
    fn from(hopeless: CannotContinue) -> Ended {
        match hopeless {
            CannotContinue::NoMemory => Ended::Memory,
            CannotContinue::Unfinished(idle) => Ended::Misbehaved(format!(
                "a message was begun and not gone on with for {idle:?}"
            )),
        }
    }
}
