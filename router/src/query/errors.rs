// SPDX-License-Identifier: MIT OR Apache-2.0

//! Why a query was not sent, or a reply not given.

use crate::{send_error::send_error, table::KeyOverLimit};

send_error! {
    /// Why a query was not sent. A peer that it names is one that must get the query; then no other got it either.
    pub enum GetError from core {
        /// The key is longer than the protocol can say.
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
        /// Its token had been cancelled before.
        #[error("the cancellation token was cancelled before")]
        Cancelled,
    }
}

impl From<KeyOverLimit> for GetError {
    fn from(over: KeyOverLimit) -> Self {
        GetError::KeyOverLimit(over)
    }
}

send_error! {
    /// Why a reply was not given. A peer that it names is the next one on the way to the session that queries.
    pub enum AnswerError from core {
        /// The querying session does not wait any more: the query timed out, was cancelled, or the session is gone.
        #[error("the querying session does not wait for answers any more")]
        Over,
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
        /// A field of the reply is longer than the protocol can say.
        #[error("a field of the message is longer than the protocol can say")]
        FieldTooLong,
    }
}
