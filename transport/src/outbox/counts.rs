// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an outbox has done, as plain numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use super::OutboxCounters;

/// The counters of one connection's sending half at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxCounts {
    /// Attempts that found the queue full; a patient sender makes several for one message.
    pub refused_full: u64,
    /// Messages that no batch can hold because a field is longer than the protocol can say.
    pub refused_too_long: u64,
    /// Messages that congestion control dropped.
    pub dropped: u64,
    /// Writes that the sender's own thread made.
    pub writes_direct: u64,
    /// Writes that the driver made.
    pub writes_driver: u64,
    /// Bytes handed to the socket, framing included.
    pub bytes: u64,
}

impl OutboxCounters {
    /// The counters as they are now.
    #[must_use]
    pub fn snapshot(&self) -> OutboxCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        OutboxCounts {
            refused_full: read(&self.refused_full),
            refused_too_long: read(&self.refused_too_long),
            dropped: read(&self.dropped),
            writes_direct: read(&self.writes_direct),
            writes_driver: read(&self.writes_driver),
            bytes: read(&self.bytes),
        }
    }
}
