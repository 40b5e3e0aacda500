// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time-stamp stacks of publications. A publication without a stack has [`NoStack`], of no size, so
//! that its path has neither a field nor a branch for a stack.

use zonda_codec::{Encode, NewHead, StackedHead, TsStack, TsStackBuf};

use crate::{flow::route::Route, model::Publication, node::shared::Shared};

/// Time-stamp stack of a publication, or none.
pub(crate) trait Stack: Copy + Send + Sync {
    /// Bytes in front of the payload.
    type Front<'h>: Encode
    where
        Self: 'h;

    /// Returns the bytes in front of the payload, for a neighbour.
    fn front<'h>(self, head: NewHead<'h>) -> Self::Front<'h>
    where
        Self: 'h;

    /// Returns the stack for subscribers of this session.
    fn received(self, shared: &Shared) -> Option<TsStackBuf>;
}

/// Absence of a stack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoStack;

impl Stack for NoStack {
    type Front<'h> = NewHead<'h>;

    #[inline(always)]
    fn front<'h>(self, head: NewHead<'h>) -> NewHead<'h>
    where
        Self: 'h,
    {
        head
    }

    #[inline(always)]
    fn received(self, _: &Shared) -> Option<TsStackBuf> {
        None
    }
}

/// Records of a publication at this node.
#[derive(Debug)]
pub(crate) struct Records {
    sent: TsStackBuf,
    /// Stack for neighbours.
    routed: TsStackBuf,
}

impl Records {
    /// Records the points of a publication that is about to be sent on a route; `None` if it has no
    /// points.
    pub(crate) fn new(
        shared: &Shared,
        route: &Route,
        publication: &Publication<'_>,
    ) -> Option<Records> {
        let sent = shared.new_stack(publication.points)?;
        let mut routed = sent.clone();
        if route.leads_beyond() {
            shared.record(&mut routed, TsStack::ROUTE);
        }
        Some(Records { sent, routed })
    }
}

impl Stack for &Records {
    type Front<'h>
        = StackedHead<'h>
    where
        Self: 'h;

    fn front<'h>(self, head: NewHead<'h>) -> StackedHead<'h>
    where
        Self: 'h,
    {
        head.with_stack(self.routed.view())
    }

    fn received(self, shared: &Shared) -> Option<TsStackBuf> {
        Some(shared.recorded(self.sent.view(), TsStack::RECEIVE))
    }
}
