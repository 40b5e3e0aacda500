// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times of SCOUTs: at once, then after 1, 2, 4, 8, 8... seconds.

use std::time::{Duration, Instant};

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// Schedule of SCOUTs. Idle until it [begins](Asking::begin).
#[derive(Debug, Clone, Default)]
pub struct Asking {
    next: Option<(Instant, Duration)>,
}

impl Asking {
    /// Begins the schedule at `now`: the first SCOUT is due at once.
    pub fn begin(&mut self, now: Instant) {
        self.next = Some((now, FIRST_WAIT));
    }

    /// Stops the schedule.
    pub fn stop(&mut self) {
        self.next = None;
    }

    /// Returns true if the schedule has begun.
    pub fn is_active(&self) -> bool {
        self.next.is_some()
    }

    /// Returns true if a SCOUT is due, and then schedules the next one. After a pause (the machine
    /// slept) one is due, not many.
    pub fn is_due(&mut self, now: Instant) -> bool {
        match self.next {
            Some((at, wait)) if at <= now => {
                self.next = Some((now + wait, (wait * 2).min(LONGEST_WAIT)));
                true
            }
            _ => false,
        }
    }

    /// Returns the time of the next SCOUT.
    pub fn deadline(&self) -> Option<Instant> {
        self.next.map(|(at, _)| at)
    }
}
