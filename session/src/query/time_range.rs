// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`TimeRange`]: the value of the parameter `_time`, such as `[now(-1h)..now()]`.

use std::fmt;
use std::ops::Add;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use super::rfc3339;

/// Range of the time of requested values.
///
/// Its text is `[start..end]`, or `[start;length]` for `[start..start+length]`. A bracket that is
/// turned away from the time excludes it, as in `[start..end[`. A missing time in front of or
/// behind `..` is no bound.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use zonda::query::{TimeExpr, TimeRange};
///
/// let lately: TimeRange = "[now(-1h)..]".parse()?;
/// assert!(lately.contains(SystemTime::now()));
/// let day: TimeRange = "[2024-02-29T00:00:00Z;1d[".parse()?;
/// assert_eq!(day.to_string(), "[2024-02-29T00:00:00Z..2024-03-01T00:00:00Z[");
/// # Ok::<(), zonda::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange<T = TimeExpr> {
    /// The beginning.
    pub start: TimeBound<T>,
    /// The end.
    pub end: TimeBound<T>,
}

/// One end of a [`TimeRange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBound<T> {
    /// A time that belongs to the range.
    Inclusive(T),
    /// A time that is the first one outside.
    Exclusive(T),
    /// No bound.
    Unbounded,
}

/// A time, fixed or relative to the time at which it is resolved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeExpr {
    /// A time in UTC, as text `2024-02-29T12:00:00.5Z`.
    Fixed(SystemTime),
    /// A number of seconds after (or before) the time of the queryable's clock, as text
    /// `now(-1.5h)`.
    Now {
        /// Seconds; before now if negative.
        offset_secs: f64,
    },
}

impl Eq for TimeExpr {}

/// A text is not a time range, or not a time.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a {what}: expected [start..end] or [start;length] of times such as \
     2024-02-29T12:00:00Z or now(-1.5h)"
)]
pub struct TimeRangeError {
    /// The form that was expected.
    pub what: &'static str,
    /// The text that is none.
    pub text: String,
}

zonda_codec::debug_as_text!(TimeRangeError);

fn no(what: &'static str, text: &str) -> TimeRangeError {
    let text = text.to_owned();
    TimeRangeError { what, text }
}

impl TimeRange<TimeExpr> {
    /// Resolves the bounds that are `now`.
    pub fn resolve_at(self, now: SystemTime) -> TimeRange<SystemTime> {
        TimeRange {
            start: self.start.resolve_at(now),
            end: self.end.resolve_at(now),
        }
    }

    /// Resolves the bounds.
    pub fn resolve(self) -> TimeRange<SystemTime> {
        self.resolve_at(SystemTime::now())
    }

    /// Returns true if this time is in the range now. For many calls, [`resolve`](Self::resolve)
    /// once.
    pub fn contains(&self, instant: SystemTime) -> bool {
        self.resolve().contains(instant)
    }
}

impl TimeRange<SystemTime> {
    /// Returns true if this time is in the range.
    pub fn contains(&self, instant: SystemTime) -> bool {
        let begun = match self.start {
            TimeBound::Inclusive(start) => instant >= start,
            TimeBound::Exclusive(start) => instant > start,
            TimeBound::Unbounded => true,
        };
        begun
            && match self.end {
                TimeBound::Inclusive(end) => instant <= end,
                TimeBound::Exclusive(end) => instant < end,
                TimeBound::Unbounded => true,
            }
    }
}

impl TimeBound<TimeExpr> {
    /// Resolves `now` to this time; `Unbounded` if the system cannot represent the result.
    pub fn resolve_at(self, now: SystemTime) -> TimeBound<SystemTime> {
        let fixed = |time: TimeExpr| time.checked_resolve_at(now);
        match self {
            TimeBound::Inclusive(time) => {
                fixed(time).map_or(TimeBound::Unbounded, TimeBound::Inclusive)
            }
            TimeBound::Exclusive(time) => {
                fixed(time).map_or(TimeBound::Unbounded, TimeBound::Exclusive)
            }
            TimeBound::Unbounded => TimeBound::Unbounded,
        }
    }
}

impl TimeExpr {
    /// Returns the time, with `now` resolved to the given one; `None` if the system cannot
    /// represent it.
    pub fn checked_resolve_at(&self, now: SystemTime) -> Option<SystemTime> {
        match self {
            TimeExpr::Fixed(time) => Some(*time),
            TimeExpr::Now { offset_secs } => shifted(now, *offset_secs),
        }
    }

    /// Adds seconds; `None` if the system cannot represent the result.
    pub fn checked_add(&self, seconds: f64) -> Option<TimeExpr> {
        match self {
            TimeExpr::Fixed(time) => shifted(*time, seconds).map(TimeExpr::Fixed),
            TimeExpr::Now { offset_secs } => Some(TimeExpr::Now {
                offset_secs: offset_secs + seconds,
            }),
        }
    }

    /// Subtracts seconds; `None` if the system cannot represent the result.
    pub fn checked_sub(&self, seconds: f64) -> Option<TimeExpr> {
        self.checked_add(-seconds)
    }
}

impl Add<f64> for TimeExpr {
    type Output = TimeExpr;

    /// Adds seconds; returns the unchanged time if the system cannot represent the result.
    fn add(self, seconds: f64) -> TimeExpr {
        self.checked_add(seconds).unwrap_or(self)
    }
}

fn shifted(time: SystemTime, seconds: f64) -> Option<SystemTime> {
    let by = Duration::try_from_secs_f64(seconds.abs()).ok()?;
    match seconds < 0.0 {
        true => time.checked_sub(by),
        false => time.checked_add(by),
    }
}

impl From<SystemTime> for TimeExpr {
    fn from(time: SystemTime) -> TimeExpr {
        TimeExpr::Fixed(time)
    }
}

impl FromStr for TimeRange {
    type Err = TimeRangeError;

    fn from_str(text: &str) -> Result<TimeRange, TimeRangeError> {
        let wrong = || no("time range", text);
        let (starts_in, rest) = match text.strip_prefix('[') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix(']').ok_or_else(wrong)?),
        };
        let (ends_in, times) = match rest.strip_suffix(']') {
            Some(times) => (true, times),
            None => (false, rest.strip_suffix('[').ok_or_else(wrong)?),
        };
        if let Some((start, end)) = times.split_once("..") {
            return Ok(TimeRange {
                start: bound(optional_time(start)?, starts_in),
                end: bound(optional_time(end)?, ends_in),
            });
        }
        let (start, length) = times.split_once(';').ok_or_else(wrong)?;
        let start: TimeExpr = start.parse()?;
        let length = seconds(length).ok_or_else(wrong)?;
        Ok(TimeRange {
            start: bound(Some(start), starts_in),
            end: bound(Some(start.checked_add(length).ok_or_else(wrong)?), ends_in),
        })
    }
}

fn optional_time(text: &str) -> Result<Option<TimeExpr>, TimeRangeError> {
    (!text.is_empty()).then(|| text.parse()).transpose()
}

fn bound<T>(time: Option<T>, is_in: bool) -> TimeBound<T> {
    match time {
        None => TimeBound::Unbounded,
        Some(time) if is_in => TimeBound::Inclusive(time),
        Some(time) => TimeBound::Exclusive(time),
    }
}

impl FromStr for TimeExpr {
    type Err = TimeRangeError;

    fn from_str(text: &str) -> Result<TimeExpr, TimeRangeError> {
        let offset = text.strip_prefix("now(").and_then(|t| t.strip_suffix(')'));
        let time = match offset {
            Some("") => Some(TimeExpr::Now { offset_secs: 0.0 }),
            Some(offset) => {
                let (sign, length) = offset
                    .strip_prefix('-')
                    .map_or((1.0, offset), |l| (-1.0, l));
                seconds(length).map(|s| TimeExpr::Now {
                    offset_secs: sign * s,
                })
            }
            None => rfc3339::parse(text).map(TimeExpr::Fixed),
        };
        time.ok_or_else(|| no("time", text))
    }
}

/// Parses a length such as `90`, `1.5h` or `20ms`, in seconds.
fn seconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 7] = [
        ("ms", 1e-3),
        ("u", 1e-6),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
        ("w", 604_800.0),
    ];
    let with_unit = |(unit, factor): &(&str, f64)| Some((text.strip_suffix(unit)?, *factor));
    let (number, factor) = UNITS.iter().find_map(with_unit).unwrap_or((text, 1.0));
    let number: f64 = number.parse().ok()?;
    number.is_finite().then_some(number * factor)
}

impl fmt::Display for TimeExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeExpr::Fixed(time) => rfc3339::write(*time, f),
            TimeExpr::Now { offset_secs } if *offset_secs == 0.0 => f.write_str("now()"),
            TimeExpr::Now { offset_secs } => write!(f, "now({offset_secs}s)"),
        }
    }
}

impl<T: Copy + Into<TimeExpr>> fmt::Display for TimeRange<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.start {
            TimeBound::Inclusive(time) => write!(f, "[{}..", time.into())?,
            TimeBound::Exclusive(time) => write!(f, "]{}..", time.into())?,
            TimeBound::Unbounded => f.write_str("[..")?,
        }
        match self.end {
            TimeBound::Inclusive(time) => write!(f, "{}]", time.into()),
            TimeBound::Exclusive(time) => write!(f, "{}[", time.into()),
            TimeBound::Unbounded => f.write_str("]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_round_trip() {
        for text in [
            "[..]",
            "[now()..now(3600s)]",
            "]now(-1.5s)..2024-02-29T01:02:03.5Z[",
            "[1970-01-01T00:00:00Z..]",
        ] {
            assert_eq!(text.parse::<TimeRange>().unwrap().to_string(), text);
        }
        let long: TimeRange = "[now(-2h);90m[".parse().unwrap();
        assert_eq!(long.to_string(), "[now(-7200s)..now(-1800s)[");
        for text in [
            "",
            "[]",
            "[;1h]",
            "[now()]",
            "now()..now()",
            "[1h..]",
            "[now(x)..]",
            "[é..]",
        ] {
            assert!(text.parse::<TimeRange>().is_err(), "{text}");
        }
    }

    #[test]
    fn units_are_known() {
        for (text, expected) in [
            ("2", 2.0),
            ("2u", 2e-6),
            ("2ms", 2e-3),
            ("2s", 2.0),
            ("2w", 1_209_600.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        assert_eq!(
            (seconds("x"), seconds("inf"), seconds("")),
            (None, None, None)
        );
    }

    #[test]
    fn bounds_are_in_or_out() {
        let at = |s: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(s);
        for (text, inside) in [
            ("[1970-01-01T00:00:01Z..1970-01-01T00:00:02Z]", [true, true]),
            (
                "]1970-01-01T00:00:01Z..1970-01-01T00:00:02Z]",
                [false, true],
            ),
            (
                "[1970-01-01T00:00:01Z..1970-01-01T00:00:02Z[",
                [true, false],
            ),
        ] {
            let range: TimeRange = text.parse().unwrap();
            assert_eq!([1, 2].map(|s| range.contains(at(s))), inside, "{text}");
        }
        let around: TimeRange = "[now(-1m)..now(1m)]".parse().unwrap();
        let now = SystemTime::now();
        assert!(around.contains(now) && !around.contains(at(0)));
        let never: TimeRange = "[now(-1e300s)..]".parse().unwrap();
        assert!(never.contains(at(0)), "a bound that cannot be said is none");
        assert_eq!(
            TimeExpr::Fixed(at(5)).checked_sub(2.0),
            Some(TimeExpr::Fixed(at(3)))
        );
    }
}
