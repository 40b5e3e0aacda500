// SPDX-License-Identifier: MIT OR Apache-2.0

//! What became of the messages for neighbours whose links have ended: nothing that was accepted goes uncounted.

use zonda_codec::Priority;
use zonda_transport::outbox::{Outbox, PriorityCounts};

/// What was sent and what was not on the links of a node that have ended, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedLinks {
    /// How many links have ended.
    pub links: u64,
    /// What became of the messages of each priority, the most urgent first. What is `queued` was accepted and is lost: the
    /// operating system's socket did not have it as a whole when the link ended. What is `sent` it had; whether the peer has
    /// read all of that before the end, nobody can say here.
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
    /// Messages of all priorities that were accepted and are lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.priorities.iter().map(|counts| counts.queued).sum()
    }

    /// Adds a link that has ended. Nothing may be accepted by its outbox any more.
    pub(crate) fn add(&mut self, outbox: &Outbox) {
        self.links += 1;
        for counts in outbox.last_priorities() {
            if let Some(all) = self.priorities.get_mut(counts.priority as usize) {
                all.add(&counts);
            }
        }
    }
}
