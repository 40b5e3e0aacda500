// SPDX-License-Identifier: MIT OR Apache-2.0
//! Log lines that strangers can cause: of each cause the first one in full, then at most one a minute, which says how many
//! were left out. A cause that ordinary neighbours have as well may have more lines a minute. Text that comes from a peer is escaped and cut.

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
pub struct LogLimit {
    /// Lines in a period beyond the first.
    more: u32,
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    /// When the period of the last line began.
    begun: Option<Instant>,
    said: u32,
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
        LogLimit::several(1)
    }

    /// So many lines of the cause may be logged in each [`PERIOD`]; at least one.
    #[must_use]
    pub const fn several(most: u32) -> Self {
        LogLimit {
            more: most.saturating_sub(1),
            lines: Mutex::new(Lines {
                begun: None,
                said: 0,
                left_out: 0,
            }),
        }
    }

    /// Whether a line may be logged at `now`, and how many were left out since the one before.
    pub fn admit(&self, now: Instant) -> Option<LeftOut> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |begun| now.saturating_duration_since(begun) >= PERIOD;
        if lines.begun.is_none_or(is_over) {
            lines.begun = Some(now);
            lines.said = 0;
        } else if lines.said < self.more {
            lines.said += 1;
        } else {
            lines.left_out += 1;
            return None;
        }
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

    #[test]
    fn a_cause_may_have_several_lines_a_minute() {
        let (limit, start) = (LogLimit::several(3), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        let lines =
            (0..120).filter_map(|second| limit.admit(at(second)).map(|left| (second, left.0)));
        let lines: Vec<(u64, u64)> = lines.collect();
        assert_eq!(lines, [(0, 0), (1, 0), (2, 0), (60, 57), (61, 0), (62, 0)]);
    }
}
