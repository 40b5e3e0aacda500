// SPDX-License-Identifier: MIT OR Apache-2.0
//! Log lines that strangers can cause: of each cause the first one in full, then at most one a minute, which says how many
//! were left out. Text that comes from a peer is escaped and cut.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines of the same cause.
pub const PERIOD: Duration = Duration::from_secs(60);

/// The lines of one cause.
///
/// ```
/// use std::time::{Duration, Instant};
/// use zonda_transport::log_limit::{LogLimit, PERIOD};
///
/// let limit = LogLimit::new();
/// let now = Instant::now();
/// assert_eq!(limit.admit(now).expect("the first").to_string(), "");
/// assert!(limit.admit(now).is_none());
/// let later = limit.admit(now + PERIOD).expect("a minute later");
/// assert_eq!(later.to_string(), " (and 1 more since the last such line)");
/// ```
#[derive(Debug, Default)]
pub struct LogLimit(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    last: Option<Instant>,
    left_out: u64,
}

/// How many lines of the same cause were left out; `Display` is empty for none, so that it can end any line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut(pub u64);

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            count => write!(f, " (and {count} more since the last such line)"),
        }
    }
}

impl LogLimit {
    /// Nothing was logged yet.
    #[must_use]
    pub const fn new() -> Self {
        LogLimit(Mutex::new(Lines {
            last: None,
            left_out: 0,
        }))
    }

    /// Whether a line may be logged at `now`, and how many were left out since the one before.
    pub fn admit(&self, now: Instant) -> Option<LeftOut> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = lines
            .last
            .is_none_or(|last| now.saturating_duration_since(last) >= PERIOD);
        if !is_due {
            lines.left_out += 1;
            return None;
        }
        lines.last = Some(now);
        Some(LeftOut(std::mem::take(&mut lines.left_out)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_one_line_a_minute() {
        let (limit, start) = (LogLimit::new(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        let lines = (0..180_000).filter_map(|millis| limit.admit(at(millis)));
        let counts: Vec<u64> = lines.map(|left_out| left_out.0).collect();
        assert_eq!(counts, [0, 59_999, 59_999]);
    }
}
