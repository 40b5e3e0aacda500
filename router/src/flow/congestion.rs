// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lanes that a source has filled beyond their limits, and the length of its pause for each.

use std::{sync::Arc, time::Duration};

use zonda_codec::Priority;
use zonda_transport::{outbox::Outbox, protocol::patience::Demand};

use crate::flow::outboxes::InOrder;

/// Longest uninterrupted wait of a source for neighbours whose backlog is full.
pub(crate) const PAUSE_MAX: Duration = Duration::from_millis(100);

/// Multiple of `isolation/backlog_bytes` queued for a neighbour from which on sources wait without
/// a time limit.
const BACKLOGS_MAX: usize = 4;

/// Kind of messages that fill a neighbour's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// Messages, queries and replies that pass through this node: other neighbours wait behind
    /// their source.
    Data,
    /// Declarations of this node caused by its source. The neighbour is not responsible for the
    /// source's rate, so any progress will do.
    Declarations,
    /// Replies of this node to the source itself, which has to take them before it asks for more.
    Answers,
}

impl Load {
    pub(crate) fn demand(self) -> Demand {
        match self {
            Load::Data => Demand::Pace,
            Load::Declarations | Load::Answers => Demand::Progress,
        }
    }
}

/// Lane that a source has filled beyond its limit.
pub(crate) struct Full {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) priority: Priority,
    pub(crate) load: Load,
}

impl Full {
    fn has_room(&self) -> bool {
        self.outbox.has_room(self.priority)
    }

    /// Returns true if the source, which has waited for `waited`, need not wait any longer. A
    /// link that may lose messages is waited for by a source without other takers only.
    pub(crate) fn lets_go_on_after(&self, waited: Duration, demand: Demand) -> bool {
        let may_lose = self.outbox.may_lose();
        let backlogs = match self.load {
            Load::Answers => 0,
            Load::Data if may_lose && demand == Demand::Pace => return true,
            Load::Data if waited >= PAUSE_MAX && !may_lose => BACKLOGS_MAX,
            Load::Data | Load::Declarations => 1,
        };
        self.has_room() || self.outbox.has_room_for_backlogs(backlogs)
    }
}

/// Lanes that one burst of a source has filled beyond their limits, each once.
#[derive(Default)]
pub(crate) struct Congestion(pub(crate) InOrder<Full>);

impl Congestion {
    /// Notes that a lane is over its limit.
    #[cold]
    pub(crate) fn note(&mut self, outbox: &Arc<Outbox>, priority: Priority, load: Load) {
        let is_it = |full: &Full| {
            Arc::ptr_eq(&full.outbox, outbox) && full.priority == priority && full.load == load
        };
        let make = || Full {
            outbox: Arc::clone(outbox),
            priority,
            load,
        };
        self.0.add(is_it, make);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn take(&mut self) -> Congestion {
        std::mem::take(self)
    }
}
