// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits for log lines that unauthenticated peers can cause: of each cause the first line is
//! logged in full, then at most one a minute, with the number of lines left out; where single lines
//! are worth reading, [more of them](LogQuota) or [one for each name](LogByName). Text that comes
//! from a peer is escaped and cut.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Minimum time between two lines of the same cause.
pub const PERIOD: Duration = Duration::from_secs(60);

/// Limit for the lines of one cause.
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
    /// Lines in a period in addition to the first.
    more: u32,
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    /// Start of the period of the last line.
    begun: Option<Instant>,
    said: u32,
    left_out: u64,
}

/// Number of lines of the same cause that were left out; `Display` is empty for none, so that it
/// can end any line.
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
    /// Creates a limit of one line in each [`PERIOD`].
    #[must_use]
    pub const fn new() -> Self {
        LogLimit::several(1)
    }

    /// Creates a limit of `most` lines, at least one, in each [`PERIOD`].
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

    /// Returns the number of lines left out since the last one if a line may be logged at `now`.
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

/// Quota for a cause of which single lines are worth reading: a number of them at once, and later
/// one more for each pause.
#[derive(Debug)]
pub struct LogQuota {
    most: u32,
    pause: Duration,
    lines: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    /// Time of the last update of `count`.
    since: Option<Instant>,
    /// Lines that were logged, less one for each pause since.
    count: u32,
    left_out: u64,
}

impl LogQuota {
    /// Creates a quota of at most `most` lines at once, and one more for each `pause`.
    #[must_use]
    pub const fn new(most: u32, pause: Duration) -> Self {
        LogQuota {
            most,
            pause,
            lines: Mutex::new(Spent {
                since: None,
                count: 0,
                left_out: 0,
            }),
        }
    }

    /// Returns the number of lines left out since the last one if a line may be logged at `now`.
    pub fn admit(&self, now: Instant) -> Option<LeftOut> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *lines.since.get_or_insert(now);
        let passed = now.saturating_duration_since(since).as_nanos() / self.pause.as_nanos().max(1);
        let passed = u32::try_from(passed).unwrap_or(u32::MAX);
        if passed > 0 {
            lines.count = lines.count.saturating_sub(passed);
            lines.since = Some(now);
        }
        if lines.count >= self.most {
            lines.left_out += 1;
            return None;
        }
        lines.count += 1;
        Some(LeftOut(std::mem::take(&mut lines.left_out)))
    }
}

/// Maximum number of names that have a limit of their own at a time.
const NAMES_MAX: usize = 16;

/// Limit for a cause that has a name, such as a user who is refused: one line a minute for each
/// name. Names that unauthenticated peers make up share one limit once there are sixteen.
#[derive(Debug, Default)]
pub struct LogByName {
    names: Mutex<HashMap<String, (Instant, LogLimit)>>,
    others: LogLimit,
}

impl LogByName {
    /// Returns the number of lines of that kind left out if a line about `name` may be logged at
    /// `now`.
    pub fn admit(&self, name: &str, now: Instant) -> Option<LeftOut> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.contains_key(name) {
            names.retain(|_, (asked, _)| now.saturating_duration_since(*asked) < PERIOD);
            if names.len() >= NAMES_MAX {
                drop(names);
                return self.others.admit(now);
            }
        }
        let (asked, limit) = names
            .entry(name.to_owned())
            .or_insert_with(|| (now, LogLimit::new()));
        *asked = now;
        limit.admit(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_filled_again_line_by_line_and_counts_what_it_leaves_out() {
        let (quota, start) = (LogQuota::new(3, Duration::from_secs(30)), Instant::now());
        let admitted = |second| {
            let now = start + Duration::from_secs(second);
            quota.admit(now).map(|left_out| left_out.0)
        };
        let first: Vec<_> = (0..5).map(admitted).collect();
        assert_eq!(first, [Some(0), Some(0), Some(0), None, None]);
        assert_eq!((admitted(31), admitted(32)), (Some(2), None));
        assert_eq!((admitted(62), admitted(63)), (Some(1), None));
        assert_eq!(
            [600, 601, 602, 603].map(admitted),
            [Some(1), Some(0), Some(0), None]
        );
    }

    #[test]
    fn each_name_has_its_line_and_made_up_names_share_one() {
        let (limits, now) = (LogByName::default(), Instant::now());
        assert!(limits.admit("anna", now).is_some());
        assert!(limits.admit("anna", now).is_none());
        assert!(limits.admit("berta", now).is_some());
        let lines = (0..1000).filter(|number| limits.admit(&format!("x{number}"), now).is_some());
        assert_eq!(lines.count(), NAMES_MAX - 2 + 1);
        let later = now + PERIOD;
        assert!(limits.admit("anna", later).is_some());
    }

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
