// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages in flight in pipelined mode: a bounded, lock-free map from a message's counter to the
//! time it was sent, filled by the writer and emptied by the reader.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The maximum number of messages in flight.
pub const MESSAGES_MAX: u64 = 1 << 16;
/// The value of a slot without a message in flight.
const FREE: u64 = 0;

/// The map, shared by one writer and one reader.
#[derive(Debug)]
pub struct Flight {
    start: Instant,
    slots: Box<[AtomicU64]>,
    landed: AtomicU64,
    sent: AtomicU64,
    is_closed: AtomicBool,
}

impl Flight {
    /// Creates an empty map.
    pub fn new() -> Self {
        Flight {
            start: Instant::now(),
            slots: (0..MESSAGES_MAX).map(|_| AtomicU64::new(FREE)).collect(),
            landed: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Returns true if the message can leave without giving up an earlier one.
    pub fn has_room(&self, sequence: u64) -> bool {
        self.slot(sequence).load(Ordering::Acquire) == FREE
    }

    /// Records the departure of a message; returns true if the message sent [`MESSAGES_MAX`]
    /// messages earlier is unanswered and is given up.
    pub fn leave(&self, sequence: u64) -> bool {
        let nanos = self.start.elapsed().as_nanos() as u64 + 1;
        let before = self.slot(sequence).swap(nanos, Ordering::AcqRel);
        self.sent.store(sequence + 1, Ordering::Release);
        before != FREE
    }

    /// Records the return of a message; returns its time, or `None` if it is not in flight (any
    /// more).
    pub fn land(&self, sequence: u64) -> Option<Duration> {
        let sent = self.sent.load(Ordering::Acquire);
        if sequence >= sent || sent - sequence > MESSAGES_MAX {
            return None;
        }
        let now = self.start.elapsed();
        match self.slot(sequence).swap(FREE, Ordering::AcqRel) {
            FREE => None,
            left => {
                self.landed.fetch_add(1, Ordering::Relaxed);
                Some(now.saturating_sub(Duration::from_nanos(left - 1)))
            }
        }
    }

    /// Returns the number of messages that have left.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    /// Declares that no more messages will leave.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Returns true if all messages are back and no more will leave.
    pub fn is_over(&self) -> bool {
        self.is_closed() && self.landed.load(Ordering::Relaxed) == self.sent.load(Ordering::Relaxed)
    }

    /// Returns true if no more messages will leave.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    fn slot(&self, sequence: u64) -> &AtomicU64 {
        &self.slots[(sequence % MESSAGES_MAX) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_lands_once() {
        let flight = Flight::new();
        assert!(flight.land(0).is_none(), "it has not left");
        assert!(!flight.leave(0) && !flight.leave(1));
        assert!(flight.land(1).is_some() && flight.land(0).is_some());
        assert!(flight.land(1).is_none(), "a duplicate");
        assert!(!flight.is_over());
        flight.close();
        assert!(flight.is_over());
    }

    #[test]
    fn the_map_is_bounded() {
        let flight = Flight::new();
        for sequence in 0..MESSAGES_MAX {
            assert!(flight.has_room(sequence) && !flight.leave(sequence));
        }
        assert!(!flight.has_room(MESSAGES_MAX));
        assert!(flight.leave(MESSAGES_MAX), "the first is given up");
        assert!(flight.land(0).is_none(), "and its answer comes too late");
        assert!(flight.land(MESSAGES_MAX).is_some());
        flight.close();
        assert!(!flight.is_over(), "all others are still under way");
    }
}
