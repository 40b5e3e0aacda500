// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of what has arrived from the peer, for every task that asks. The reading task updates
//! them after each read, never for each message.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::rx::Arrived;

use super::Outbox;

impl Outbox {
    /// Returns the counts of what has arrived from the peer.
    #[must_use]
    pub fn arrived(&self) -> Arrived {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Arrived {
            bytes: read(&self.arrivals.bytes),
            transport_messages: read(&self.arrivals.transport_messages),
            messages: std::array::from_fn(|at| read(&self.arrivals.messages[at])),
        }
    }

    /// Notes the counts so far. One task makes all calls, or the holder of the receiver.
    pub(crate) fn note_arrived(&self, arrived: &Arrived) {
        let note = |counter: &AtomicU64, count| counter.store(count, Ordering::Relaxed);
        note(&self.arrivals.bytes, arrived.bytes);
        note(
            &self.arrivals.transport_messages,
            arrived.transport_messages,
        );
        for (counter, count) in self.arrivals.messages.iter().zip(arrived.messages) {
            note(counter, count);
        }
    }
}
