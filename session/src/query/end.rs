// SPDX-License-Identifier: MIT OR Apache-2.0

//! End of a get.

use zonda_codec::ZenohId;
use zonda_router::node::QueryEnd;

/// Reason of the end of a get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndReason {
    /// Every queryable has sent all its replies, or there is none.
    Complete,
    /// The timeout passed before all replies had come.
    Timeout,
    /// The token of the get was cancelled.
    Cancelled,
    /// The link to at least one of the nodes that were queried was lost before all its replies had come.
    LinkLost {
        /// The first such neighbour.
        peer: ZenohId,
    },
    /// The session was closed.
    Closed,
}

/// End of a get, with its counts; see
/// [`SessionGetBuilder::on_end`](super::SessionGetBuilder::on_end).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetEnd {
    pub(super) reason: EndReason,
    pub(super) replies: u64,
    pub(super) unmerged: u64,
    pub(super) panics: u64,
}

impl GetEnd {
    /// Returns the reason of the end.
    pub fn reason(&self) -> EndReason {
        self.reason
    }

    /// Returns the number of replies that the handler got, errors included.
    pub fn replies(&self) -> u64 {
        self.replies
    }

    /// Returns the number of replies that were delivered without being merged, as there were more
    /// than [can be held back](super::QueryConsolidation).
    pub fn unmerged(&self) -> u64 {
        self.unmerged
    }

    /// Returns the number of replies that were lost because the callback panicked on them.
    pub fn panics(&self) -> u64 {
        self.panics
    }
}

impl From<QueryEnd> for EndReason {
    fn from(how: QueryEnd) -> Self {
        match how {
            QueryEnd::TimedOut => EndReason::Timeout,
            QueryEnd::Cancelled => EndReason::Cancelled,
            QueryEnd::LinkLost { peer } => EndReason::LinkLost { peer },
            QueryEnd::Closed => EndReason::Closed,
            _ => EndReason::Complete,
        }
    }
}
