// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes of the configuration that wait, and counts of those that were made.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
};

use zonda_codec::KeyExpr;
use zonda_transport::sync::Mutex;

/// Most writes that wait.
const WRITES_MAX: usize = 64;

/// Most bytes of the writes that wait, unless one alone is longer.
const BYTES_MAX: usize = 1 << 20;

/// Result of a write to the configuration, for its counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// The value is in force.
    Applied,
    /// The value, the key or the writer is not accepted.
    Refused,
    /// Too many writes waited.
    Dropped,
}

impl Written {
    const ALL: [Written; 3] = [Written::Applied, Written::Refused, Written::Dropped];

    /// Returns its name in metrics.
    const fn name(self) -> &'static str {
        match self {
            Written::Applied => "applied",
            Written::Refused => "refused",
            Written::Dropped => "dropped",
        }
    }
}

/// Writes that wait, and counts of those that were made.
#[derive(Debug, Default)]
pub(crate) struct ConfigWrites {
    waiting: Mutex<Waiting>,
    counts: [AtomicU64; Written::ALL.len()],
}

#[derive(Debug, Default)]
struct Waiting {
    writes: VecDeque<PublishedWrite>,
    bytes: usize,
    /// True while a task makes the writes.
    is_worked_on: bool,
}

/// A published write of the configuration.
#[derive(Debug)]
pub(crate) struct PublishedWrite {
    pub(crate) key: KeyExpr<'static>,
    /// `None` for a deletion, which restores the default.
    pub(crate) value: Option<Box<[u8]>>,
}

impl PublishedWrite {
    fn bytes(&self) -> usize {
        let value = self.value.as_ref().map_or(0, |value| value.len());
        self.key.as_str().len() + value
    }
}

/// Outcome of [`ConfigWrites::push`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The write waits, and the caller starts the task that makes it.
    First,
    /// The write waits behind others.
    Next,
    /// Too many writes wait; this one is not among them.
    Dropped,
}

impl ConfigWrites {
    /// Counts a write.
    pub(crate) fn count(&self, result: Written) {
        self.counts[result as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of writes by result.
    pub(crate) fn counts(&self) -> [(&'static str, u64); Written::ALL.len()] {
        let count = |result: Written| self.counts[result as usize].load(Ordering::Relaxed);
        Written::ALL.map(|result| (result.name(), count(result)))
    }

    /// Adds a write, unless too many wait.
    pub(crate) fn push(&self, write: PublishedWrite) -> Pushed {
        let mut waiting = self.waiting.lock();
        let bytes = waiting.bytes + write.bytes();
        let is_full = waiting.writes.len() >= WRITES_MAX || bytes > BYTES_MAX;
        if is_full && !waiting.writes.is_empty() {
            return Pushed::Dropped;
        }
        waiting.bytes = bytes;
        waiting.writes.push_back(write);
        match std::mem::replace(&mut waiting.is_worked_on, true) {
            true => Pushed::Next,
            false => Pushed::First,
        }
    }

    /// Removes the oldest write; `None` ends the task.
    pub(crate) fn pop(&self) -> Option<PublishedWrite> {
        let mut waiting = self.waiting.lock();
        let next = waiting.writes.pop_front();
        match &next {
            Some(write) => waiting.bytes -= write.bytes(),
            None => waiting.is_worked_on = false,
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_wait_are_bounded() {
        let write = |bytes: usize| PublishedWrite {
            key: KeyExpr::try_from("@/a1/router/config/qos".to_owned()).expect("a key"),
            value: Some(vec![0; bytes].into()),
        };
        for (bytes, most) in [(10, WRITES_MAX), (BYTES_MAX / 2, 1), (BYTES_MAX * 2, 1)] {
            let writes = ConfigWrites::default();
            assert_eq!(writes.push(write(bytes)), Pushed::First, "{bytes}");
            for _ in 1..most {
                assert_eq!(writes.push(write(bytes)), Pushed::Next, "{bytes}");
            }
            assert_eq!(writes.push(write(bytes)), Pushed::Dropped, "{bytes}");
            for _ in 0..most {
                assert!(writes.pop().is_some(), "{bytes}");
            }
            assert_eq!(
                writes.push(write(bytes)),
                Pushed::Next,
                "its task has not ended"
            );
            assert!(writes.pop().is_some() && writes.pop().is_none());
            assert_eq!(
                writes.push(write(bytes)),
                Pushed::First,
                "its task has ended"
            );
        }
    }
}
