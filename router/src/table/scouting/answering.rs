// SPDX-License-Identifier: MIT OR Apache-2.0

//! How many HELLOs are sent, at most: a SCOUT is a few bytes with a source that anybody can write, its answer is longer
//! and goes to that source.

use std::time::{Duration, Instant};

/// HELLOs that may be sent in a row, and in each second afterwards.
const HELLOS_PER_SECOND_MAX: u32 = 500;

/// What became of the SCOUTs that were heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScoutCounts {
    /// Answered.
    pub answered: u64,
    /// Not answered, as none of this node's locators leads there from the one who asked.
    pub unreachable: u64,
    /// Not answered, as more than 500 in a second asked.
    pub over_limit: u64,
    /// Datagrams that were no scouting messages.
    pub malformed: u64,
}

/// The right to send HELLOs.
#[derive(Debug, Clone)]
pub struct Answering {
    left: u32,
    refilled: Option<Instant>,
}

impl Default for Answering {
    fn default() -> Self {
        Answering {
            left: HELLOS_PER_SECOND_MAX,
            refilled: None,
        }
    }
}

impl Answering {
    /// Whether one more may be sent now.
    pub fn may_answer(&mut self, now: Instant) -> bool {
        let since = *self.refilled.get_or_insert(now);
        let elapsed = now.saturating_duration_since(since);
        let earned = elapsed.as_secs_f64() * f64::from(HELLOS_PER_SECOND_MAX);
        if earned >= 1.0 {
            let whole = earned.min(f64::from(HELLOS_PER_SECOND_MAX)) as u32;
            self.left = self.left.saturating_add(whole).min(HELLOS_PER_SECOND_MAX);
            // what is less than one HELLO is kept for the next time
            let unused = Duration::from_secs_f64(earned.fract() / f64::from(HELLOS_PER_SECOND_MAX));
            self.refilled = now.checked_sub(unused).or(Some(now));
        }
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }
}
