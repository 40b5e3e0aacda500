// SPDX-License-Identifier: MIT OR Apache-2.0

//! Why a question was not asked, or an answer not given.

use std::time::Duration;

use zonda_codec::{KeyExprError, ZenohId};

use crate::table::KeyOverLimit;

/// Why a question was not asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// This process was forked off from the one that opened the session, and has none of its threads.
    #[error(
        "this process was forked off after the session was opened: open a session here, or fork before"
    )]
    Forked,
    /// The node is closed.
    #[error("the session is closed")]
    Closed,
    /// The queue of a neighbour that must be asked is full and the caller asked not to wait; nobody was asked.
    #[error("the send queue of peer {peer} is full")]
    WouldBlock {
        /// The slow peer.
        peer: ZenohId,
    },
    /// The queue of a neighbour that must be asked stayed full for the whole deadline; nobody was asked.
    #[error("the send queue of peer {peer} stayed full for {after:?}")]
    Timeout {
        /// The slow peer.
        peer: ZenohId,
        /// How long the call waited.
        after: Duration,
    },
    /// Congestion control `Drop`: the queue of a neighbour that must be asked is full; nobody was asked, and it was counted.
    #[error("dropped for peer {peer}, whose send queue is full")]
    Dropped {
        /// The slow peer.
        peer: ZenohId,
    },
    /// The question is larger than a peer may accept.
    #[error("a message of {size} bytes exceeds the limit of {limit} bytes")]
    TooLarge {
        /// Size in bytes.
        size: usize,
        /// The limit in bytes (`transport/link/rx/max_message_size`).
        limit: usize,
    },
    /// The schema of the encoding is longer than the protocol can say.
    #[error("an encoding schema of {len} bytes exceeds the limit of 255 bytes")]
    SchemaTooLong {
        /// Length in bytes.
        len: usize,
    },
    /// The key is longer than the protocol can say.
    #[error("a key of {len} bytes exceeds the limit of {limit} bytes")]
    KeyTooLong {
        /// Length in bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The key is not a valid key expression.
    #[error(transparent)]
    Key(#[from] KeyExprError),
    /// The key is more complex than a node accepts.
    #[error(transparent)]
    KeyOverLimit(#[from] KeyOverLimit),
}

/// Why an answer was not given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// This process was forked off from the one that opened the session, and has none of its threads.
    #[error(
        "this process was forked off after the session was opened: open a session here, or fork before"
    )]
    Forked,
    /// The node is closed.
    #[error("the session is closed")]
    Closed,
    /// The asker does not wait any more: the query timed out, was cancelled, or the asker is gone.
    #[error("whoever asked does not wait for answers any more")]
    Over,
    /// The key of the reply is not a valid key expression.
    #[error(transparent)]
    Key(#[from] KeyExprError),
    /// The key of the reply does not intersect the query's, and the query does not accept others (`_anyke`).
    #[error(
        "the key {key} does not intersect {query}, the key of the query (`_anyke` would permit it)"
    )]
    OtherKey {
        /// The reply's key.
        key: String,
        /// The query's key.
        query: String,
    },
    /// Congestion control `Block`: the queue of the asker's side is full and the caller asked not to wait.
    #[error("the send queue of peer {peer} is full")]
    WouldBlock {
        /// The slow peer.
        peer: ZenohId,
    },
    /// Congestion control `Drop`: the answer was dropped (and counted) because the queue to the asker is full.
    #[error("dropped for peer {peer}, whose send queue is full")]
    Dropped {
        /// The slow peer.
        peer: ZenohId,
    },
    /// Congestion control `Block`: the queue to the asker stayed full for the whole deadline.
    #[error("the send queue of peer {peer} stayed full for {after:?}")]
    Timeout {
        /// The slow peer.
        peer: ZenohId,
        /// How long the call waited.
        after: Duration,
    },
    /// The answer is larger than a peer may accept.
    #[error("a message of {size} bytes exceeds the limit of {limit} bytes")]
    TooLarge {
        /// Size in bytes.
        size: usize,
        /// The limit in bytes (`transport/link/rx/max_message_size`).
        limit: usize,
    },
    /// The schema of the encoding is longer than the protocol can say.
    #[error("an encoding schema of {len} bytes exceeds the limit of 255 bytes")]
    SchemaTooLong {
        /// Length in bytes.
        len: usize,
    },
    /// A field of the answer is longer than the protocol can say.
    #[error("a field of the message is longer than the protocol can say")]
    FieldTooLong,
}
