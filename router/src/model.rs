// SPDX-License-Identifier: MIT OR Apache-2.0

//! The plain data that crosses the seam between a [`Node`](crate::node::Node) and the session above it:
//! what is published, what is delivered, and every way an operation can end. No behaviour lives here.

use std::fmt;
use std::time::Duration;

use zonda_codec::{
    Encoding, KeyExprError, Locator, Payload, Qos, Reliability, SourceInfo, Timestamp, WhatAmI,
    ZenohId,
};
pub use zonda_transport::{
    outbox::{Discarded, OutboxCounts, PriorityCounts},
    protocol::options::LinkOptions,
};

pub use crate::table::FaceCounters;
use crate::{
    hlc::TooFarAhead, peers::reasons::Refusal, send_error::send_error, table::KeyOverLimit,
};

/// The effect of a publication on the value of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SampleKind {
    /// The key has a new value.
    #[default]
    Put,
    /// The key has no value any more; the payload is empty.
    Delete,
}

impl fmt::Display for SampleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SampleKind::Put => "PUT",
            SampleKind::Delete => "DELETE",
        })
    }
}

/// The bytes of a value to publish.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// Bytes that are copied into the send queue, however many they are.
    Borrowed(&'a [u8]),
    /// Shared bytes: few are copied, many are sent from where they lie.
    Shared(&'a Payload),
}

impl<'a> Value<'a> {
    /// The bytes.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &'a [u8] {
        match self {
            Value::Borrowed(bytes) => bytes,
            Value::Shared(payload) => payload.as_slice(),
        }
    }

    /// Number of bytes.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        match self {
            Value::Borrowed(bytes) => bytes.len(),
            Value::Shared(payload) => payload.as_zslice().len(),
        }
    }
}

/// One message to publish. Borrows everything, so building one costs no allocation.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    /// Put or delete.
    pub kind: SampleKind,
    /// The value; ignored for [`SampleKind::Delete`].
    pub payload: Value<'a>,
    /// The encoding of the payload; ignored for [`SampleKind::Delete`].
    pub encoding: Encoding<'a>,
    /// Application data beside the payload.
    pub attachment: Option<&'a [u8]>,
    /// When the value was made; `None` lets the first router stamp it, if it does.
    pub timestamp: Option<Timestamp>,
    /// The source of the value, and its number there.
    pub source_info: Option<SourceInfo>,
    /// Priority, congestion control and express flag.
    pub qos: Qos,
    /// The class of delivery: a hop may lose a best-effort message.
    pub reliability: Reliability,
}

/// The time that a publication may wait for room in a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Return at once.
    Never,
    /// Block the calling thread for at most this long.
    AtMost(Duration),
}

/// The fate of a publication that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// Handed to the socket of each neighbour that wants it, and to every subscriber of this session.
    Sent,
    /// Accepted into the send queue of at least one peer; the peer has not taken it yet.
    Queued,
    /// No subscriber is known: the message went to no node. A client, and a node behind a gateway, knows the subscribers on
    /// the keys of its declared publishers; other keys it hands to the gateway, which is [`Outcome::Sent`] or
    /// [`Outcome::Queued`].
    NoSubscriber,
    /// Congestion control `Drop`, and the send queue of at least one peer was full: it does not get the message.
    /// Made by the session from [`PublishError::Dropped`], since a caller of plain `put` asked for dropping.
    Dropped {
        /// The slow peer.
        peer: ZenohId,
    },
    /// The link to at least one peer ended before it had accepted the message: the peer does not get it, unless it came
    /// back meanwhile by another link. Its subscribers are unknown from now on, until it is connected again.
    LinkLost {
        /// The peer whose link ended.
        peer: ZenohId,
    },
}

send_error! {
    /// Why a publication was not (fully) accepted.
    pub enum PublishError from core {
        /// The link to this peer has agreed on single messages without fragments (`transport/unicast/lowlatency`): nothing was
        /// queued for it.
        #[error(
            "a message of {size} bytes does not fit the {limit} bytes that the lowlatency link to peer {peer} carries: publish less at once, or leave transport/unicast/lowlatency out"
        )]
        TooLargeForLink {
            /// The peer.
            peer: ZenohId,
            /// Payload and attachment in bytes.
            size: usize,
            /// The most that an encoded message may have, in bytes.
            limit: usize,
        },
        /// A field of the message is longer than the protocol can say.
        #[error("a field of the message is longer than the protocol can say")]
        FieldTooLong,
        /// The key is more complex than a node accepts.
        #[error("{0}")]
        KeyOverLimit(KeyOverLimit),
        /// The timestamp is too far in the future, and `timestamping/drop_future_timestamp` is set.
        #[error("{0}, and timestamping/drop_future_timestamp is set")]
        TooFarAhead(TooFarAhead),
    }
}

impl From<KeyOverLimit> for PublishError {
    fn from(over: KeyOverLimit) -> Self {
        PublishError::KeyOverLimit(over)
    }
}

/// Why a subscriber or a publisher could not be declared.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclareError {
    /// This process was forked off from the one that opened the session, and has none of its threads.
    #[error(
        "this process was forked off after the session was opened: open a session here, or fork before"
    )]
    Forked,
    /// The key is not a valid key expression.
    #[error(transparent)]
    Key(#[from] KeyExprError),
    /// The node is closed.
    #[error("the session is closed")]
    Closed,
    /// The key is longer than the protocol can say.
    #[error("a key of {len} bytes exceeds the limit of {limit} bytes")]
    KeyTooLong {
        /// Length in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The key is more complex than a node accepts.
    #[error(transparent)]
    KeyOverLimit(#[from] KeyOverLimit),
    /// Every declaration id of this node is in use.
    #[error("{limit} declarations are live already; undeclare some first")]
    TooMany {
        /// The number that may be live at once.
        limit: usize,
    },
    /// The token of a question for liveliness tokens had been cancelled before.
    #[error("the cancellation token was cancelled before")]
    Cancelled,
}

zonda_codec::debug_as_text!(DeclareError);

/// Why a node could not be opened.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The configuration asks for something impossible.
    #[error("{reason}")]
    Config {
        /// One line: key, value, what to try.
        reason: String,
    },
    /// The runtime could not start.
    #[error("cannot start the {runtime} runtime: {reason}")]
    Runtime {
        /// The name of the runtime.
        runtime: String,
        /// The answer of the operating system.
        reason: String,
    },
    /// A client needs at least one endpoint to connect to, or to scout for one.
    #[error(
        "a client needs a router to connect to: set connect/endpoints (for example tcp/127.0.0.1:7447) or scouting/multicast/enabled"
    )]
    NoEndpoint,
    /// A client without endpoints found nobody to connect to.
    #[error(
        "no {roles} found within {after:?}: {tried}; set connect/endpoints, or see zonda scout --explain"
    )]
    NobodyFound {
        /// The nodes that were looked for.
        roles: String,
        /// For how long (`scouting/timeout`).
        after: Duration,
        /// On which interfaces, and what went wrong.
        tried: String,
    },
    /// An endpoint cannot be listened on.
    #[error("cannot listen on {endpoint}: {reason}")]
    Listen {
        /// The endpoint as configured.
        endpoint: String,
        /// Why, in one line.
        reason: String,
    },
    /// No configured endpoint could be connected to within the limits of `connect/timeout_ms`.
    #[error("cannot connect to {endpoint}: {reason}")]
    Connect {
        /// The endpoint (or, joined by commas, the endpoints) tried.
        endpoint: String,
        /// Why the last attempt failed: a kind for programs, and one line.
        reason: Refusal,
    },
}

zonda_codec::debug_as_text!(OpenError);

/// Why a close was not clean. The node is closed all the same.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseError {
    /// This process was forked off from the one that opened the session, and has none of its threads.
    #[error(
        "this process was forked off after the session was opened: open a session here, or fork before"
    )]
    Forked,
    /// Some peers had not taken what was queued for them by the deadline; it is lost.
    #[error("not everything was delivered within {after:?} of closing; lost: {}", named(.lost))]
    Timeout {
        /// The neighbours that did not take everything, each with what it missed.
        lost: Vec<Lost>,
        /// The time that they had.
        after: Duration,
    },
}

zonda_codec::debug_as_text!(CloseError);

/// Names a subscriber of a node until it is undeclared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriberId(pub u32);

/// One live link, for display. Where there are several to one peer, what was sent and ignored is that of all of them.
///
/// `Debug` shows what it is, not what was counted.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStatus {
    /// The peer's id.
    pub zid: ZenohId,
    /// The peer's role.
    pub whatami: WhatAmI,
    /// Our end, such as `tcp/127.0.0.1:41230`.
    pub local: Locator,
    /// The peer's end.
    pub remote: Locator,
    /// This node opened it.
    pub dialed: bool,
    /// Bytes of a batch at most, as agreed.
    pub batch_size: u16,
    /// Messages have priorities on it.
    pub is_qos: bool,
    /// The messages that were sent to the peer, and those that were not.
    pub sent: OutboxCounts,
    /// The same for each priority, the most urgent first.
    pub priorities: Vec<PriorityCounts>,
    /// The declarations and questions of the peer that this node ignored.
    pub ignored: FaceCounters,
    /// The messages that were received from the peer and thrown away.
    pub discarded: Discarded,
    /// The number of times that a priority of the peer waited for a declaration that was still on its way.
    pub held: u64,
    /// The options of the link beyond the plain protocol.
    pub options: LinkOptions,
}

impl fmt::Debug for LinkStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("zid", &self.zid)
            .field("whatami", &self.whatami)
            .field("src", &self.local)
            .field("dst", &self.remote)
            .field("mtu", &self.batch_size)
            .field("is_streamed", &self.is_streamed())
            .field("options", &self.options.names())
            .field("reliability", &self.reliability())
            .finish_non_exhaustive()
    }
}

/// The reference's names for the parts of a link.
impl LinkStatus {
    /// The peer's id.
    pub fn zid(&self) -> &ZenohId {
        &self.zid
    }

    /// Our end.
    pub fn src(&self) -> &Locator {
        &self.local
    }

    /// The peer's end.
    pub fn dst(&self) -> &Locator {
        &self.remote
    }

    /// Bytes of a batch at most, as agreed.
    pub fn mtu(&self) -> u16 {
        self.batch_size
    }

    /// Tells if it is a stream of bytes, as TCP is.
    pub fn is_streamed(&self) -> bool {
        true
    }

    /// The reliability of the link itself; `None` where messages have no priorities.
    pub fn reliability(&self) -> Option<Reliability> {
        self.is_qos.then_some(Reliability::Reliable)
    }
}

/// The messages that a peer had not got when its link was closed: they are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The peer's id.
    pub peer: ZenohId,
    /// Messages that the operating system's socket did not have as a whole. 0 if it had all, but the peer's system had not
    /// confirmed all of that in time: then nobody can say how many of the last ones are lost.
    pub messages: u64,
    /// Bytes of these messages that the socket did not have.
    pub bytes: u64,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.messages {
            0 => write!(f, "{} (the last bytes unconfirmed)", self.peer),
            1 => write!(f, "{} (1 message, {} bytes)", self.peer, self.bytes),
            count => write!(f, "{} ({count} messages, {} bytes)", self.peer, self.bytes),
        }
    }
}

/// At most so many peers are named in one line.
const NAMED_MAX: usize = 8;

/// The peers that something is lost for, in one line.
pub(crate) fn named(lost: &[Lost]) -> String {
    let named: Vec<String> = lost.iter().take(NAMED_MAX).map(Lost::to_string).collect();
    let more = match lost.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    named.join(", ") + &more
}
