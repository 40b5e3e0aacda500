// SPDX-License-Identifier: MIT OR Apache-2.0
//! Filter for the messages of members, which drops those that are not allowed in a group.

use zonda_codec::{NetworkMessage, Push, PushRun};

use super::GroupHandler;
use super::counts::{Counters, count};
use crate::protocol::rx::{Context, Deliver};

/// Handler that passes only data with its whole key.
pub(super) struct WholeKeyFilter<'a, H> {
    pub(super) handler: &'a mut H,
    pub(super) is_muted: bool,
    pub(super) counters: &'a Counters,
}

impl<H: GroupHandler> WholeKeyFilter<'_, H> {
    fn takes(&self, push: &Push<'_>) -> bool {
        if self.is_muted {
            return false;
        }
        let takes = push.wire_expr.scope == 0;
        if !takes {
            count(&self.counters.misplaced);
        }
        takes
    }
}

impl<H: GroupHandler> Deliver for WholeKeyFilter<'_, H> {
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>) {
        if self.takes(push) {
            self.handler.push(push, raw_body, context);
        }
    }

    fn run<'a>(&mut self, push: &Push<'a>, run: &mut PushRun<'a>, context: &Context<'_>) {
        if self.takes(push) {
            self.handler.run(push, run, context);
        }
    }

    /// Declarations announce a member's interests; every message is sent to the group anyway, and
    /// no queries pass it. All other messages are not allowed here.
    fn message(&mut self, message: NetworkMessage<'_>, _context: &Context<'_>) {
        match message {
            NetworkMessage::Declare(_) => count(&self.counters.declarations),
            _ => count(&self.counters.misplaced),
        }
    }

    fn wants_pause(&self) -> bool {
        self.handler.wants_pause()
    }
}
