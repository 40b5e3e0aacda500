// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counts of the messages for neighbours whose links have ended: every accepted message is counted.

use zonda_codec::Priority;
use zonda_transport::outbox::{Outbox, PriorityCounts};

/// Totals of the messages, sent and unsent, on the links of a node that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedLinks {
    /// Number of links that have ended.
    pub links: u64,
    /// Messages of each priority, the most urgent first. A `queued` message was accepted and is
    /// lost: the operating system's socket did not have it as a whole when the link ended. The
    /// socket had every `sent` message; this node cannot know if the peer has read all of them
    /// before the end.
    pub priorities: [PriorityCounts; 8],
}

impl Default for EndedLinks {
    fn default() -> Self {
        Self {
            links: 0,
            priorities: Priority::ALL.map(PriorityCounts::none),
        }
    }
}

impl EndedLinks {
    /// Returns the number of messages of all priorities that were accepted and are lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.priorities.iter().map(|counts| counts.queued).sum()
    }

    /// Adds a link that has ended. Its outbox must accept no more messages.
    pub(crate) fn add(&mut self, outbox: &Outbox) {
        self.links += 1;
        for counts in outbox.last_priorities() {
            if let Some(all) = self.priorities.get_mut(counts.priority as usize) {
                all.add(&counts);
            }
        }
    }
}
