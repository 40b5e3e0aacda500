// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the table tells listeners of the node's own session.

use zonda_codec::KeyExpr;

/// A notice to a listener of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A liveliness token on this key came to life, or the last one went.
    Token {
        /// The token's key.
        key: KeyExpr<'static>,
        /// Whether there is one now.
        alive: bool,
    },
    /// Whether anybody matches, now that this has changed.
    Matching(bool),
    /// Nothing more will come: a query is answered, or what the listener belongs to has ended.
    End {
        /// Whether all that was asked for was delivered, rather than what was there by the time limit.
        complete: bool,
    },
}

impl Notice {
    /// About how many bytes it takes.
    pub(super) fn weight(&self) -> usize {
        match self {
            Notice::Token { key, .. } => key.as_str().len() + size_of::<Self>(),
            Notice::Matching(_) | Notice::End { .. } => size_of::<Self>(),
        }
    }
}
