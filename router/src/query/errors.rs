// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors of queries that were not sent and of replies that were not given.

use crate::{send_error::send_error, table::KeyOverLimit};

send_error! {
    /// Reason why a query was not sent. A peer in it is one that must get the query; no other peer
    /// has got it either.
    pub enum GetError from core {
        /// The key is longer than the protocol allows.
        #[error("a key of {len} bytes exceeds the limit of {limit} bytes")]
        KeyTooLong {
            /// Length in bytes.
            len: usize,
            /// The limit in bytes.
            limit: usize,
        },
        /// The key is more complex than a node accepts.
        #[error("{0}")]
        KeyOverLimit(KeyOverLimit),
        /// The query's token was cancelled before.
        #[error("the cancellation token is already cancelled")]
        Cancelled,
    }
}

impl From<KeyOverLimit> for GetError {
    fn from(over: KeyOverLimit) -> Self {
        GetError::KeyOverLimit(over)
    }
}

send_error! {
    /// Reason why a reply was not sent. A peer in it is the next hop towards the querying session.
    pub enum AnswerError from core {
        /// The querying session does not wait any more: the query timed out, was cancelled, or the
        /// session has ended.
        #[error("the querying session does not wait for answers any more")]
        Over,
        /// The reply's key does not intersect the query's, and the query accepts no other keys
        /// (`_anyke`).
        #[error(
            "the key {key} does not intersect {query}, the key of the query (`_anyke` would permit it)"
        )]
        OtherKey {
            /// The reply's key.
            key: String,
            /// The query's key.
            query: String,
        },
        /// A field of the reply is longer than the protocol allows.
        #[error("a field of the message is longer than the protocol allows")]
        FieldTooLong,
    }
}
