// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of a handshake. Each text is one line for the operator of the link: the failure, its
//! step, and a remedy.

use std::fmt;
use std::io;

use zonda_codec::{DecodeError, PROTOCOL_VERSION, ZenohId};

use super::password::AuthProblem;
use crate::{foreign::advice_to_listener, link::RulesBroken};

/// Message that a handshake waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The acceptor waits for the opener's first message.
    InitSyn,
    /// The opener waits for the acceptor's parameters.
    InitAck,
    /// The acceptor waits for the cookie it issued.
    OpenSyn,
    /// The opener waits to be admitted.
    OpenAck,
    /// The handshake is over; no message is expected any more.
    Finished,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::InitSyn => "InitSyn",
            Step::InitAck => "InitAck",
            Step::OpenSyn => "OpenSyn",
            Step::OpenAck => "OpenAck",
            Step::Finished => "nothing more",
        })
    }
}

/// Error of opening or accepting a link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The two ends agreed on no encryption, or did not trust each other.
    #[error("no encrypted link: {0}")]
    Encryption(String),
    /// The peer did not ask for a WebSocket.
    #[error("no WebSocket: {0}")]
    Upgrade(String),
    /// The peer sent bytes that a link of this kind does not carry.
    #[error("the peer violated the protocol of the link: {0}")]
    Rules(String),
    /// The peer speaks another protocol.
    #[error("the peer speaks {speaks}; {}", advice_to_listener(speaks))]
    Foreign {
        /// Protocol that its first bytes belong to.
        speaks: &'static str,
    },
    /// The peer speaks another version of the protocol.
    #[error(
        "the peer speaks protocol version {theirs}, this node {PROTOCOL_VERSION}; use a Zenoh 1.x node on the other side"
    )]
    Version {
        /// The version the peer announced.
        theirs: u8,
    },
    /// The peer closed the link during the handshake.
    #[error("the peer refused the link: {}", describe(*reason))]
    Refused {
        /// The close reason on the wire.
        reason: u8,
    },
    /// The peer has this node's id: the link leads back to this node.
    #[error(
        "the link leads to this node itself, or another node has the same id; remove this node's own address from the endpoints to connect to, or give each node its own id"
    )]
    OwnId,
    /// Another node with the peer's id is connected already.
    #[error(
        "a node with id {zid} is connected already: one connection is enough; if it is another node, give each its own id"
    )]
    SameId {
        /// The id in question.
        zid: ZenohId,
    },
    /// The peer has a link to this node already.
    #[error("node {zid} is connected to this node already")]
    Linked {
        /// The peer's id.
        zid: ZenohId,
    },
    /// This node's owner refused the link.
    #[error("node {zid} was refused with close reason {reason}")]
    NotAdmitted {
        /// The peer's id.
        zid: ZenohId,
        /// The close reason sent to it.
        reason: u8,
    },
    /// A step did not complete in time.
    #[error(
        "no {step} from the peer in time; check that a Zenoh node listens there and that nothing filters the link"
    )]
    Timeout {
        /// Message that did not arrive.
        step: Step,
    },
    /// Another node than the expected one answered.
    #[error(
        "node {found} answered where node {expected} was expected; check the address, or whether that node has restarted with a new id"
    )]
    WrongId {
        /// Id that the caller asked for.
        expected: ZenohId,
        /// Id that answered.
        found: ZenohId,
    },
    /// The peer's bytes are not a message of this protocol.
    #[error(
        "undecodable bytes while waiting for {step}: {source}; check that the peer is a Zenoh 1.x node and that both ends use the same kind of link"
    )]
    Undecodable {
        /// The message that was waited for.
        step: Step,
        /// The fault in the bytes.
        source: DecodeError,
    },
    /// A well-formed message arrived out of turn.
    #[error(
        "{found} arrived while waiting for {step}; check that the peer is a Zenoh 1.x node and not itself connecting as opener"
    )]
    Unexpected {
        /// The message that was waited for.
        step: Step,
        /// The message that arrived.
        found: &'static str,
    },
    /// A batch held bytes after the message of the handshake.
    #[error(
        "{count} bytes follow {step} in its batch; a handshake message must be alone in its batch, update the peer"
    )]
    Trailing {
        /// Message in whose batch the bytes were found.
        step: Step,
        /// The number of bytes that follow it.
        count: usize,
    },
    /// The peer proposed or answered a value that cannot be used.
    #[error(
        "{what} of {value} in the peer's {step} is outside {min}..={max}; correct the peer's settings, or update it"
    )]
    Parameter {
        /// The message that carried it.
        step: Step,
        /// The name of the parameter.
        what: &'static str,
        /// The value received.
        value: u64,
        /// The smallest value allowed.
        min: u64,
        /// The largest value allowed.
        max: u64,
    },
    /// The peer wants smaller batches than this node agrees to.
    #[error(
        "batches of {value} bytes in the peer's {step} are smaller than this node agrees to, which is {min}; raise transport/link/tx/batch_size of the peer, or lower limits/batch_bytes_min here"
    )]
    BatchSize {
        /// The message that carried it.
        step: Step,
        /// The size received.
        value: u16,
        /// The smallest size allowed.
        min: u16,
    },
    /// The peer switched a feature on that was not offered, or offered two that exclude each other.
    #[error("{what} in the peer's {step} contradicts what was offered; update the peer")]
    Feature {
        /// The message that carried it.
        step: Step,
        /// The feature.
        what: &'static str,
    },
    /// The cookie was not issued by this node, or too long ago.
    #[error(
        "the cookie in the peer's OpenSyn was not issued by this node, or too long ago; connect again"
    )]
    Cookie,
    /// The peer has not proved its user to this node, which requires a proof.
    #[error("node {zid} was refused: {problem}")]
    Unauthenticated {
        /// The peer's id.
        zid: ZenohId,
        /// The problem.
        problem: AuthProblem,
    },
    /// The peer refused the link at the first message, and this node gave no user name.
    #[error(
        "the peer refused the link without a reason (0); if it asks for a user, set transport/auth/usrpwd/user and transport/auth/usrpwd/password (nodes that were found by scouting or gossip see them only with transport/auth/usrpwd/send_to: 'all'), else look at its log"
    )]
    CredentialsWanted,
    /// The peer refused the user name of this node, or the proof of its password.
    #[error(
        "node {zid} refused user {user:?}; correct transport/auth/usrpwd/user and transport/auth/usrpwd/password, or the peer's dictionary_file"
    )]
    CredentialsRefused {
        /// The peer's id.
        zid: ZenohId,
        /// User name that this node sent.
        user: String,
    },
    /// The peer asked for a user and did not confirm it, or sent an undecodable answer.
    #[error("the peer's {step} has an invalid answer about the user; update the peer")]
    Confirmation {
        /// The message that should have carried it.
        step: Step,
    },
    /// The link failed below the protocol.
    #[error("the link failed during the handshake: {kind}; {why}", kind = _0, why = why_broken(*_0))]
    Io(io::ErrorKind),
}

impl From<io::Error> for HandshakeError {
    /// Converts an error of the link: an error with a text of its own comes from the rules of the
    /// link or its encryption.
    fn from(error: io::Error) -> Self {
        match error.get_ref() {
            Some(said) if said.is::<RulesBroken>() => HandshakeError::Rules(said.to_string()),
            Some(said) if error.kind() == io::ErrorKind::InvalidData => {
                HandshakeError::Encryption(said.to_string())
            }
            _ => HandshakeError::Io(error.kind()),
        }
    }
}

/// Returns advice about a link that failed before the two ends had agreed.
fn why_broken(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe => {
            "the peer hung up: it may want another kind of link, such as tls/, or have refused this node"
        }
        _ => "check that the peer is running",
    }
}

/// Returns the text for a close reason of the protocol, with a remedy.
fn describe(reason: u8) -> String {
    // The known reasons, each with a remedy.
    let (what, attempt) = match reason {
        0 => (
            "unspecified reason",
            "look at the peer's log, credentials may be missing",
        ),
        1 => (
            "unsupported",
            "check the versions and features of both nodes",
        ),
        2 => (
            "invalid",
            "it may hold a link of a node with this id, want larger batches (transport/link/tx/batch_size), or disagree on other parameters",
        ),
        3 => (
            "maximum number of sessions reached",
            "raise the peer's session limit",
        ),
        4 => ("already connected", "the peer has a link to this node"),
        5 => ("expired", "the peer gave the link up, try again"),
        6 => ("unresponsive", "the peer gave the link up, try again"),
        7 => (
            "connection to self",
            "remove the node's own address from its endpoints",
        ),
        other => return format!("unknown reason {other}; look at the peer's log"),
    };
    format!("{what} ({reason}); {attempt}")
}
