// SPDX-License-Identifier: MIT OR Apache-2.0

//! Notices of the table to listeners of the node's own session.

use zonda_codec::KeyExpr;

/// Notice to a listener of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A liveliness token on this key was declared, or the last one has ended.
    Token {
        /// The token's key.
        key: KeyExpr<'static>,
        /// True if there is one now.
        alive: bool,
    },
    /// True if any counterpart exists now, after a change.
    Matching(bool),
    /// Last notice: a query is answered, or the owner of the listener has ended.
    End {
        /// True if everything was delivered, rather than what was there by the time limit.
        complete: bool,
    },
}

impl Notice {
    /// Returns the approximate bytes it takes.
    pub(super) fn weight(&self) -> usize {
        match self {
            Notice::Token { key, .. } => key.as_str().len() + size_of::<Self>(),
            Notice::Matching(_) | Notice::End { .. } => size_of::<Self>(),
        }
    }
}
