// SPDX-License-Identifier: MIT OR Apache-2.0

//! Causes of refused and of lost links: a kind for programs and one line for people. Both sides of
//! a connection use the same kinds.

use std::fmt;
use std::io::ErrorKind;

use zonda_codec::transport::reason;
use zonda_transport::{dial::DialError, driver::Ended, protocol::handshake::HandshakeError};

/// Cause of a link that was not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Kind of the cause, for programs.
    pub kind: RefusalKind,
    /// One line for people: the failure, and a remedy.
    pub text: String,
}

/// Kinds of causes of a link that was not opened. `Display` writes them as `max-sessions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The host name has no address.
    NameNotResolved,
    /// No node listens there.
    ConnectionRefused,
    /// There is no route to the address, or the system refused the socket.
    Unreachable,
    /// There was no answer in time.
    TimedOut,
    /// This node does not support the protocol of the endpoint.
    Unsupported,
    /// The other side does not speak this protocol.
    NotZenoh,
    /// The other side speaks another version of the protocol.
    Version,
    /// A name, a password or a key was missing or wrong; also used if the other side closed at once
    /// without a reason and this node gave no name.
    Authentication,
    /// One of the two nodes has as many neighbours as it may.
    MaxSessions,
    /// The two nodes are connected already, by as many links as they may.
    MaxLinks,
    /// The other side is a router that this one does not trust.
    Untrusted,
    /// The link leads back to this node.
    ConnectionToSelf,
    /// Another node answered than the expected one.
    WrongNode,
    /// The other side closed the link and gave no reason.
    ClosedByPeer,
    /// The other side violated the handshake.
    Misbehaved,
    /// The connection broke.
    Broken,
    /// This node is closing.
    Closing,
}

impl RefusalKind {
    /// List of all kinds.
    pub const ALL: [RefusalKind; 17] = [
        RefusalKind::NameNotResolved,
        RefusalKind::ConnectionRefused,
        RefusalKind::Unreachable,
        RefusalKind::TimedOut,
        RefusalKind::Unsupported,
        RefusalKind::NotZenoh,
        RefusalKind::Version,
        RefusalKind::Authentication,
        RefusalKind::MaxSessions,
        RefusalKind::MaxLinks,
        RefusalKind::Untrusted,
        RefusalKind::ConnectionToSelf,
        RefusalKind::WrongNode,
        RefusalKind::ClosedByPeer,
        RefusalKind::Misbehaved,
        RefusalKind::Broken,
        RefusalKind::Closing,
    ];

    /// Returns its name, such as `max-sessions`.
    pub fn name(self) -> &'static str {
        match self {
            RefusalKind::NameNotResolved => "name-not-resolved",
            RefusalKind::ConnectionRefused => "connection-refused",
            RefusalKind::Unreachable => "unreachable",
            RefusalKind::TimedOut => "timed-out",
            RefusalKind::Unsupported => "unsupported",
            RefusalKind::NotZenoh => "not-zenoh",
            RefusalKind::Version => "version",
            RefusalKind::Authentication => "authentication",
            RefusalKind::MaxSessions => "max-sessions",
            RefusalKind::MaxLinks => "max-links",
            RefusalKind::Untrusted => "untrusted-router",
            RefusalKind::ConnectionToSelf => "connection-to-self",
            RefusalKind::WrongNode => "wrong-node",
            RefusalKind::ClosedByPeer => "closed-by-peer",
            RefusalKind::Misbehaved => "misbehaved",
            RefusalKind::Broken => "broken",
            RefusalKind::Closing => "closing",
        }
    }

    /// Returns the kind of a close reason on the wire during a handshake.
    fn of_close(code: u8) -> RefusalKind {
        match code {
            reason::MAX_SESSIONS => RefusalKind::MaxSessions,
            reason::MAX_LINKS => RefusalKind::MaxLinks,
            reason::CONNECTION_TO_SELF => RefusalKind::ConnectionToSelf,
            _ => RefusalKind::ClosedByPeer,
        }
    }
}

impl fmt::Display for RefusalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<&HandshakeError> for Refusal {
    fn from(error: &HandshakeError) -> Refusal {
        use HandshakeError as E;
        // codes on the wire and errors of this side fall into the same kinds
        let kind = match error {
            E::Version { .. } => RefusalKind::Version,
            E::Refused { reason } => RefusalKind::of_close(*reason),
            E::NotAdmitted { reason, .. } => match *reason {
                reason::GENERIC => RefusalKind::Closing,
                reason::INVALID => RefusalKind::Untrusted,
                other => RefusalKind::of_close(other),
            },
            E::OwnId => RefusalKind::ConnectionToSelf,
            E::SameId { .. } | E::Linked { .. } => RefusalKind::MaxLinks,
            E::Timeout { .. } => RefusalKind::TimedOut,
            E::WrongId { .. } => RefusalKind::WrongNode,
            E::Undecodable { .. } | E::Foreign { .. } => RefusalKind::NotZenoh,
            E::Unauthenticated { .. }
            | E::CredentialsWanted
            | E::CredentialsRefused { .. }
            | E::Confirmation { .. } => RefusalKind::Authentication,
            E::Io(_) => RefusalKind::Broken,
            _ => RefusalKind::Misbehaved,
        };
        let text = error.to_string();
        Refusal { kind, text }
    }
}

impl From<&DialError> for Refusal {
    fn from(error: &DialError) -> Refusal {
        // the kind, and the endpoint that the text repeats
        let (kind, endpoint) = match error {
            DialError::Endpoint { endpoint, .. } => (RefusalKind::Unsupported, endpoint),
            DialError::Resolve { endpoint, .. } => (RefusalKind::NameNotResolved, endpoint),
            DialError::Timeout { endpoint, .. } => (RefusalKind::TimedOut, endpoint),
            DialError::Foreign { endpoint, .. } => (RefusalKind::NotZenoh, endpoint),
            DialError::Handshake {
                endpoint, source, ..
            } => (Refusal::from(source).kind, endpoint),
            DialError::Connect { endpoint, failures } => {
                let all = |kind| failures.iter().all(|(_, failure)| failure.kind() == kind);
                let kind = match () {
                    () if all(ErrorKind::ConnectionRefused) => RefusalKind::ConnectionRefused,
                    () if all(ErrorKind::TimedOut) => RefusalKind::TimedOut,
                    () => RefusalKind::Unreachable,
                };
                (kind, endpoint)
            }
            _ => {
                let text = error.to_string();
                let kind = RefusalKind::Unreachable;
                return Refusal { kind, text };
            }
        };
        // the endpoint is shown next to the text, so the prefix is removed
        let text = error.to_string();
        let front = format!("cannot connect to {endpoint}: ");
        let text = text.strip_prefix(&front).unwrap_or(&text).to_owned();
        Refusal { kind, text }
    }
}

/// Cause of a link's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Kind of the cause, for programs.
    pub kind: LossKind,
    /// One line for people.
    pub text: String,
}

/// Kinds of causes of a link's end. `Display` writes them as `lease-expired`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LossKind {
    /// This node closed it.
    ClosedHere,
    /// The other side sent Close, with this reason on the wire.
    ClosedByPeer(u8),
    /// The other side hung up without a Close.
    HungUp,
    /// The other side was silent for its whole lease.
    LeaseExpired,
    /// The other side violated the protocol.
    Misbehaved,
    /// The other side took so little for so long that this node gave it up.
    TooSlow,
    /// The connection broke.
    Broken,
    /// The runtime that drove it was shut down.
    Abandoned,
}

impl LossKind {
    /// Returns its name, such as `lease-expired`.
    pub fn name(self) -> &'static str {
        match self {
            LossKind::ClosedHere => "closed-here",
            LossKind::ClosedByPeer(_) => "closed-by-peer",
            LossKind::HungUp => "hung-up",
            LossKind::LeaseExpired => "lease-expired",
            LossKind::Misbehaved => "misbehaved",
            LossKind::TooSlow => "too-slow",
            LossKind::Broken => "broken",
            LossKind::Abandoned => "abandoned",
        }
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Loss {
    /// Returns the cause of a link's end. While this node closes, every link counts as closed by
    /// it.
    pub(super) fn of(ended: &Ended, is_closed: bool) -> Loss {
        let mut loss = Loss::from(ended);
        if is_closed {
            loss.kind = LossKind::ClosedHere;
        }
        loss
    }
}

impl From<&Ended> for Loss {
    fn from(ended: &Ended) -> Loss {
        let kind = match ended {
            Ended::Local => LossKind::ClosedHere,
            Ended::Remote(code) => LossKind::ClosedByPeer(*code),
            Ended::HungUp => LossKind::HungUp,
            Ended::Expired => LossKind::LeaseExpired,
            Ended::Misbehaved(_) => LossKind::Misbehaved,
            Ended::TooSlow => LossKind::TooSlow,
            Ended::Abandoned => LossKind::Abandoned,
            _ => LossKind::Broken,
        };
        let text = ended.to_string();
        Loss { kind, text }
    }
}
