// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of what was received and discarded, for every task that asks. The reading task updates
//! them after a read that has changed them, never for each message.

use std::sync::atomic::Ordering;

use crate::log_limit::LogLimit;
use crate::protocol::rx::Received;

use super::Outbox;

/// Counts of what a link has received from its peer and discarded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Discarded {
    /// Frames with an old or repeated sequence number.
    pub frames: u64,
    /// Fragments with an old or repeated sequence number, and those that became no part of a
    /// message.
    pub fragments: u64,
    /// Messages in fragments that were given up before their end, including those that are too
    /// large.
    pub messages: u64,
    /// Messages above the limit of one message (`transport/link/rx/max_message_size`), or of all unfinished ones.
    pub too_large: u64,
    /// Messages that were reassembled from fragments and could not be decoded, and those whose
    /// payload lies in the sender's shared memory.
    pub undecodable: u64,
}

impl Outbox {
    /// Returns the counts of what was received from the peer and discarded.
    #[must_use]
    pub fn discarded(&self) -> Discarded {
        let [frames, fragments, messages, too_large, undecodable] =
            std::array::from_fn(|at| self.discards.0[at].load(Ordering::Relaxed));
        Discarded {
            frames,
            fragments,
            messages,
            too_large,
            undecodable,
        }
    }

    /// Returns the number of times that a priority of the peer waited for a declaration on its way.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Notes the number of times that priorities waited so far.
    pub(crate) fn note_held(&self, received: &Received) {
        self.held.store(received.lanes_held, Ordering::Relaxed);
    }

    /// Notes the counts of discarded items; true if a message that is too large is among them for
    /// the first time.
    #[cold]
    pub(crate) fn note_discarded(&self, received: &Received) -> bool {
        let before = self.discarded();
        if self.discards.is_shared_for_the_first_time(received) {
            static LIMIT: LogLimit = LogLimit::new();
            if let Some(left_out) = LIMIT.admit(crate::clock::now()) {
                tracing::warn!(
                    "a neighbour sends payloads in shared memory that this node refuses, or on a link that shares none; their messages \
                     are dropped, and counted as undecodable{left_out}"
                );
            }
        }
        let counts = [
            received.frames_dropped,
            received.fragments_dropped + received.fragments_discarded,
            received.messages_discarded,
            received.messages_too_large,
            received.messages_undecodable,
        ];
        for (known, count) in self.discards.0.iter().zip(counts) {
            known.store(count, Ordering::Relaxed);
        }
        before.too_large == 0 && received.messages_too_large > 0
    }
}
