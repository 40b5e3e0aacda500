// SPDX-License-Identifier: MIT OR Apache-2.0

//! What became of the messages for neighbours whose links have ended: nothing that was accepted goes uncounted.

use zonda_transport::outbox::Outbox;

use super::Node;

/// What was sent and what was not on the links of a node that have ended, all together.
/// `accepted = sent + lost`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedLinks {
    /// How many links have ended.
    pub links: u64,
    /// Messages that were taken into their queues, this node's own declarations included.
    pub accepted: u64,
    /// Those of them that the operating system's socket had as a whole. Whether the peer has read them all before the
    /// end, nobody can say here.
    pub sent: u64,
    /// Those of them that it did not have when the link ended.
    pub lost: u64,
    /// Messages that congestion control dropped because the queue was full.
    pub dropped: u64,
    /// Messages that a sender got back: it would not wait, or no longer.
    pub refused: u64,
}

impl EndedLinks {
    /// Adds a link that has ended. Nothing may be accepted by its outbox any more.
    pub(super) fn add(&mut self, outbox: &Outbox) {
        self.links += 1;
        for counts in outbox.priorities() {
            self.accepted += counts.accepted;
            self.sent += counts.sent;
            self.lost += counts.queued;
            self.dropped += counts.dropped;
            self.refused += counts.refused;
        }
    }
}

impl Node {
    /// What was sent and what was not on the links that have ended.
    #[must_use]
    pub fn ended_links(&self) -> EndedLinks {
        match self.shared.is_forked() {
            true => EndedLinks::default(),
            false => self.shared.state.lock().ended,
        }
    }
}
