// SPDX-License-Identifier: MIT OR Apache-2.0
//! How dense the stream on a link is, and whose turn it is to write the open batch.
//!
//! While a stream is dense the driver only reminds: at a tick it marks the open batch as due, and the next message's
//! sender writes it, in whose cache the batch is and who holds no lock that others wait for. The driver writes by
//! itself only if no sender has come by the tick after.

use std::sync::atomic::{AtomicU8, Ordering};

/// Messages come one by one; each is written at once.
const QUIET: u8 = 0;
/// Messages follow each other closely; the driver ticks.
const DENSE: u8 = 1;
/// As dense, and the next sender writes.
const DUE: u8 = 2;

/// What a sender does after it has put a message into the open batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Find out whether the stream has become dense.
    Look,
    /// Nothing.
    Leave,
    /// Write.
    Write,
}

/// The state; a race between two of its changes costs at most a write too many or a tick of waiting.
#[derive(Debug, Default)]
pub(super) struct Pace(AtomicU8);

impl Pace {
    /// What the sender of a message does now.
    #[inline]
    pub(super) fn turn(&self) -> Turn {
        match self.0.load(Ordering::Relaxed) {
            QUIET => Turn::Look,
            DENSE => Turn::Leave,
            _ => {
                self.0.store(DENSE, Ordering::Relaxed);
                Turn::Write
            }
        }
    }

    /// A full batch is being written, and what was due with it.
    #[inline]
    pub(super) fn written(&self) {
        if self.0.load(Ordering::Relaxed) == DUE {
            self.0.store(DENSE, Ordering::Relaxed);
        }
    }

    /// The stream has become dense. True for the first who says so.
    pub(super) fn become_dense(&self) -> bool {
        let quiet = QUIET;
        self.0
            .compare_exchange(quiet, DENSE, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    /// The stream has ended.
    pub(super) fn become_quiet(&self) {
        self.0.store(QUIET, Ordering::SeqCst);
    }

    /// Asks the next sender to write. False if none has come since this was asked last.
    pub(super) fn remind(&self) -> bool {
        let asked = self
            .0
            .compare_exchange(DENSE, DUE, Ordering::SeqCst, Ordering::SeqCst);
        if asked.is_err() {
            self.written();
        }
        asked.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, Turn};

    #[test]
    fn the_next_sender_writes_once_when_reminded() {
        let pace = Pace::default();
        assert_eq!(pace.turn(), Turn::Look);
        assert!(pace.become_dense() && !pace.become_dense());
        assert_eq!(pace.turn(), Turn::Leave);
        assert!(pace.remind());
        assert_eq!(pace.turn(), Turn::Write);
        assert_eq!(pace.turn(), Turn::Leave);
    }

    #[test]
    fn a_reminder_nobody_heeds_falls_back_to_the_one_who_gave_it() {
        let pace = Pace::default();
        pace.become_dense();
        assert!(pace.remind());
        assert!(!pace.remind());
        assert_eq!(pace.turn(), Turn::Leave);
        pace.remind();
        pace.written();
        assert!(pace.remind());
        pace.become_quiet();
        assert_eq!(pace.turn(), Turn::Look);
    }
}
