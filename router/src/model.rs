// SPDX-License-Identifier: MIT OR Apache-2.0

//! Plain data that a [`Node`](crate::node::Node) and the session exchange: publications,
//! deliveries, and the results of operations. No behaviour.

use std::fmt;
use std::time::Duration;

use zonda_codec::{
    Encoding, KeyExprError, Locator, Payload, Qos, Reliability, SourceInfo, Timestamp, WhatAmI,
    ZenohId,
};
pub use zonda_transport::{
    outbox::{Discarded, OutboxCounts, PriorityCounts},
    protocol::{options::LinkOptions, rx::Arrived},
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
    /// Shared bytes: small payloads are copied, large ones are sent without a copy.
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
    /// Application data in addition to the payload.
    pub attachment: Option<&'a [u8]>,
    /// Time of the value; `None` lets the first router add it, if it is configured to.
    pub timestamp: Option<Timestamp>,
    /// The publishing entity, and the sequence number of the value there.
    pub source_info: Option<SourceInfo>,
    /// Priority, congestion control and express flag.
    pub qos: Qos,
    /// Class of delivery: a hop may lose a best-effort message.
    pub reliability: Reliability,
    /// Points at which times are recorded, as bits of [`TsStack`](zonda_codec::TsStack); 0 for none.
    /// Replies do not use it: they have the stack of their query.
    pub points: u8,
}

/// Time that a publication may wait for room in a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Return at once.
    Never,
    /// Block the calling thread for at most this long.
    AtMost(Duration),
}

/// Result of an accepted publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// The socket of each neighbour on the route has the message, and every subscriber of this
    /// session got it.
    Sent,
    /// The send queue of at least one peer has the message; its socket does not have all of it yet.
    Queued,
    /// No subscriber is known: the message went to no node. A client, and a node behind a gateway,
    /// knows the subscribers for the keys of its declared publishers; it sends messages on other
    /// keys to the gateway, which results in [`Outcome::Sent`] or [`Outcome::Queued`].
    NoSubscriber,
    /// Congestion control is `Drop`, and the send queue of at least one peer was full: that peer
    /// does not get the message. The session makes this outcome from [`PublishError::Dropped`],
    /// because a caller of plain `put` has asked for dropping.
    Dropped {
        /// The slow peer.
        peer: ZenohId,
    },
    /// The link to at least one peer ended before the peer had accepted the message: the peer does
    /// not get it, unless it has reconnected by another link. Its subscribers are unknown until it
    /// is connected again.
    LinkLost {
        /// The peer whose link ended.
        peer: ZenohId,
    },
}

send_error! {
    /// Reason why a publication was not (fully) accepted.
    pub enum PublishError from core {
        /// The link to this peer was negotiated without fragments (`transport/unicast/lowlatency`):
        /// nothing was queued for it.
        #[error(
            "a message of {size} bytes does not fit the {limit} bytes that the lowlatency link to peer {peer} carries: publish less at once, or leave transport/unicast/lowlatency out"
        )]
        TooLargeForLink {
            /// The peer.
            peer: ZenohId,
            /// Payload and attachment in bytes.
            size: usize,
            /// Maximum bytes of an encoded message.
            limit: usize,
        },
        /// A field of the message is longer than the protocol allows.
        #[error("a field of the message is longer than the protocol allows")]
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

/// Reason why a subscriber or a publisher could not be declared.
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
    /// The key is longer than the protocol allows.
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
    #[error("the limit of {limit} live declarations is reached; undeclare some first")]
    TooMany {
        /// Maximum number of live declarations.
        limit: usize,
    },
    /// The token of a liveliness query was cancelled before.
    #[error("the cancellation token is already cancelled")]
    Cancelled,
}

zonda_codec::debug_as_text!(DeclareError);

/// Reason why a node could not be opened.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The configuration is invalid.
    #[error("{reason}")]
    Config {
        /// One line: key, value, remedy.
        reason: String,
    },
    /// The runtime could not start.
    #[error("cannot start the {runtime} runtime: {reason}")]
    Runtime {
        /// The name of the runtime.
        runtime: String,
        /// The error of the operating system.
        reason: String,
    },
    /// A client needs an endpoint to connect to, or scouting.
    #[error(
        "a client needs a router to connect to: set connect/endpoints (for example tcp/127.0.0.1:7447) or scouting/multicast/enabled"
    )]
    NoEndpoint,
    /// A client without endpoints found no node to connect to.
    #[error(
        "no {roles} found within {after:?}: {tried}; set connect/endpoints, or see zonda scout --explain"
    )]
    NoNodeFound {
        /// Roles of the nodes that it searched for.
        roles: String,
        /// Time of the search (`scouting/timeout`).
        after: Duration,
        /// The interfaces that were used, and their errors.
        tried: String,
    },
    /// The node on which a session was to be opened is closed, or of no use to this process.
    #[error("cannot open a session on this node: {0}")]
    Node(DeclareError),
    /// The node cannot listen on an endpoint.
    #[error("cannot listen on {endpoint}: {reason}")]
    Listen {
        /// The endpoint as configured.
        endpoint: String,
        /// The reason, in one line.
        reason: String,
    },
    /// The node could not connect to any configured endpoint within the limits of
    /// `connect/timeout_ms`.
    #[error("cannot connect to {endpoint}: {reason}")]
    Connect {
        /// The endpoint (or, joined by commas, the endpoints) tried.
        endpoint: String,
        /// Reason of the last failure: a kind for programs, and one line.
        reason: Refusal,
    },
}

zonda_codec::debug_as_text!(OpenError);

/// Reason why a close was not clean. The node is closed all the same.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseError {
    /// This process was forked off from the one that opened the session, and has none of its threads.
    #[error(
        "this process was forked off after the session was opened: open a session here, or fork before"
    )]
    Forked,
    /// Some peers had not taken all queued messages by the deadline; the rest is lost.
    #[error("not everything was delivered within {after:?} of closing; lost: {}", named(.lost))]
    Timeout {
        /// The neighbours that did not take everything, each with its loss.
        lost: Vec<Lost>,
        /// The time that they had.
        after: Duration,
    },
}

zonda_codec::debug_as_text!(CloseError);

/// Id of a subscriber in its node, until it is undeclared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscriberId(pub u32);

/// One live link, for display.
///
/// The counters are those of the connection. If it has several links, its first link shows them, and
/// those of the further ones are zero, so that a sum over all links counts each message once.
/// `Debug` shows its properties without the counters.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStatus {
    /// The peer's id.
    pub zid: ZenohId,
    /// The peer's role.
    pub whatami: WhatAmI,
    /// Locator of this end, such as `tcp/127.0.0.1:41230`.
    pub local: Locator,
    /// Locator of the peer's end.
    pub remote: Locator,
    /// True if this node opened it.
    pub dialed: bool,
    /// Negotiated maximum bytes of a batch.
    pub batch_size: u16,
    /// True if messages on it have priorities.
    pub is_qos: bool,
    /// Counters of messages that were sent to the peer, dropped or refused.
    pub sent: OutboxCounts,
    /// Counters by priority, the most urgent first.
    pub priorities: Vec<PriorityCounts>,
    /// Counters of what has arrived from the peer.
    pub received: Arrived,
    /// The peer's declarations and queries that this node ignored.
    pub ignored: FaceCounters,
    /// Received messages of the peer that this node discarded.
    pub discarded: Discarded,
    /// Number of times that a priority of the peer waited for a declaration that had not arrived
    /// yet.
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

/// Accessors with the reference's names.
impl LinkStatus {
    /// The peer's id.
    pub fn zid(&self) -> &ZenohId {
        &self.zid
    }

    /// Locator of this end.
    pub fn src(&self) -> &Locator {
        &self.local
    }

    /// Locator of the peer's end.
    pub fn dst(&self) -> &Locator {
        &self.remote
    }

    /// Negotiated maximum bytes of a batch.
    pub fn mtu(&self) -> u16 {
        self.batch_size
    }

    /// Returns true if the link is a byte stream, such as TCP.
    pub fn is_streamed(&self) -> bool {
        true
    }

    /// Returns the first and the last priority that the link is for; `None` if it is for all.
    pub fn priorities(&self) -> Option<(u8, u8)> {
        self.options.priorities()
    }

    /// Reliability of the link, as its ends agreed on or as that of its kind; `None` if its messages
    /// have no priorities.
    pub fn reliability(&self) -> Option<Reliability> {
        let of_kind = match self.remote.proto() {
            "udp" | "serial" => Reliability::BestEffort,
            _ => Reliability::Reliable,
        };
        let agreed = self.options.reliability();
        self.is_qos.then(|| agreed.unwrap_or(of_kind))
    }
}

/// Messages that a peer had not got when its link was closed; they are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The peer's id.
    pub peer: ZenohId,
    /// Messages that the operating system's socket did not have completely. 0 if the socket had all,
    /// but the peer's system had not acknowledged all of them in time; the number of lost ones is then
    /// unknown.
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

/// Maximum number of peers that are named in one line.
const NAMED_MAX: usize = 8;

/// Formats the peers with losses in one line.
pub(crate) fn named(lost: &[Lost]) -> String {
    let named: Vec<String> = lost.iter().take(NAMED_MAX).map(Lost::to_string).collect();
    let more = match lost.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    named.join(", ") + &more
}
