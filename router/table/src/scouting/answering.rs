// SPDX-License-Identifier: MIT OR Apache-2.0

//! Limit of the HELLOs that are sent: a SCOUT is a few bytes with a source that any sender can
//! forge, its answer is longer and goes to that source.

use std::time::{Duration, Instant};

/// HELLOs that may be sent in a row, and in each second afterwards.
const HELLOS_PER_SECOND_MAX: u32 = 500;

/// Outcomes of the received SCOUTs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScoutCounts {
    /// SCOUTs that were answered.
    pub answered: u64,
    /// SCOUTs without an answer, as none of this node's locators is reachable from their source.
    pub unreachable: u64,
    /// SCOUTs without an answer, as more than 500 came in a second.
    pub over_limit: u64,
    /// Datagrams that were no scouting messages.
    pub malformed: u64,
}

/// Token bucket for HELLOs.
#[derive(Debug, Clone)]
pub struct HelloBudget {
    left: u32,
    refilled: Option<Instant>,
}

impl Default for HelloBudget {
    fn default() -> Self {
        HelloBudget {
            left: HELLOS_PER_SECOND_MAX,
            refilled: None,
        }
    }
}

impl HelloBudget {
    /// Returns true if one more may be sent now.
    pub fn may_answer(&mut self, now: Instant) -> bool {
        let since = *self.refilled.get_or_insert(now);
        let elapsed = now.saturating_duration_since(since);
        let earned = elapsed.as_secs_f64() * f64::from(HELLOS_PER_SECOND_MAX);
        if earned >= 1.0 {
            let whole = earned.min(f64::from(HELLOS_PER_SECOND_MAX)) as u32;
            self.left = self.left.saturating_add(whole).min(HELLOS_PER_SECOND_MAX);
            // the fraction of a HELLO is kept for the next call
            let unused = Duration::from_secs_f64(earned.fract() / f64::from(HELLOS_PER_SECOND_MAX));
            self.refilled = now.checked_sub(unused).or(Some(now));
        }
        let may = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may
    }
}
