// SPDX-License-Identifier: MIT OR Apache-2.0

//! Records of a node in time-stamp stacks.

use zonda_codec::{TsStack, TsStackBuf};

use crate::{
    node::{
        handle::Node,
        intercept::{QueryStack, TimestampContext},
        shared::Shared,
    },
    table::Locality,
};

impl Shared {
    /// Appends the record of this point to a stack. The caller must not hold a lock, because an
    /// application's function may be called.
    #[cold]
    pub(crate) fn record(&self, stack: &mut TsStackBuf, point: u8) {
        let node = TimestampContext {
            zid: self.zid,
            whatami: self.role,
        };
        self.interceptor
            .record(stack, point, node, &self.timestamps);
    }

    /// Returns the stack of a message that begins at this node; `None` without points.
    #[cold]
    pub(crate) fn new_stack(&self, points: u8) -> Option<TsStackBuf> {
        let mut stack = TsStackBuf::new(points)?;
        self.record(&mut stack, TsStack::SEND);
        Some(stack)
    }

    /// Returns the stack with the record of this point. The caller must not hold a lock.
    #[cold]
    pub(crate) fn recorded(&self, stack: TsStack<'_>, point: u8) -> TsStackBuf {
        let mut stack = TsStackBuf::of(stack);
        self.record(&mut stack, point);
        stack
    }
}

impl Node {
    /// Returns the stacks of a query to `destination` that begins here, for the times at these
    /// points (bits of [`TsStack`]); `None` if there are none.
    #[must_use]
    pub fn new_query_stack(&self, points: u8, destination: Locality) -> Option<QueryStack> {
        let sent = self.shared.new_stack(points)?;
        let mut routed = sent.clone();
        if destination != Locality::SessionLocal {
            self.shared.record(&mut routed, TsStack::ROUTE);
        }
        Some(QueryStack { sent, routed })
    }

    /// Returns the number of records that are missing in time-stamp stacks, because the stack was
    /// full or the function for timestamps panicked.
    #[must_use]
    pub fn timestamps_not_recorded(&self) -> u64 {
        self.shared.interceptor.not_recorded()
    }
}
