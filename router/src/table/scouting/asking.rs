// SPDX-License-Identifier: MIT OR Apache-2.0

//! When to ask who is there: at once, then after 1, 2, 4, 8, 8... seconds.

use std::time::{Duration, Instant};

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The times at which SCOUTs are sent. Idle until it [begins](Asking::begin).
#[derive(Debug, Clone, Default)]
pub struct Asking {
    next: Option<(Instant, Duration)>,
}

impl Asking {
    /// Asks anew from `now` on: the first SCOUT is due at once.
    pub fn begin(&mut self, now: Instant) {
        self.next = Some((now, FIRST_WAIT));
    }

    /// Asks no more.
    pub fn stop(&mut self) {
        self.next = None;
    }

    /// Whether it asks at all.
    pub fn is_active(&self) -> bool {
        self.next.is_some()
    }

    /// Whether a SCOUT is due; if so, the next one is put off. After a pause (the machine slept) one is due, not many.
    pub fn is_due(&mut self, now: Instant) -> bool {
        match self.next {
            Some((at, wait)) if at <= now => {
                self.next = Some((now + wait, (wait * 2).min(LONGEST_WAIT)));
                true
            }
            _ => false,
        }
    }

    /// When the next SCOUT is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.next.map(|(at, _)| at)
    }
}
