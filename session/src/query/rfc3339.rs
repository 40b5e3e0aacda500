// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times in UTC in the form of RFC 3339: `2024-02-29T12:00:00.5Z`.

use std::fmt;
use std::time::{Duration, SystemTime};

use zonda_codec::civil::date;

const DAY_S: i64 = 86_400;

/// Parses a time; the `T` may be a space and the `Z` may be left out.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once(['T', ' '])?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    // 60 is a leap second, which the system's clock does not know.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_since_1970(year, month, day)?;
    let seconds = days * DAY_S + hour * 3600 + minute * 60 + second.min(59);
    let nanos = Duration::from_nanos(nanoseconds(fraction)?);
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let base = match seconds < 0 {
        true => epoch.checked_sub(whole)?,
        false => epoch.checked_add(whole)?,
    };
    base.checked_add(nanos)
}

/// Parses three numbers with these counts of digits.
fn numbers(text: &str, separator: char, digits: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut all = [0; 3];
    for (number, digits) in all.iter_mut().zip(digits) {
        let part = parts.next()?;
        let is_number = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
        *number = if is_number {
            part.parse().ok()?
        } else {
            return None;
        };
    }
    parts.next().is_none().then_some(all)
}

fn nanoseconds(fraction: &str) -> Option<u64> {
    let is_number =
        (1..=9).contains(&fraction.len()) && fraction.bytes().all(|b| b.is_ascii_digit());
    let number: u64 = is_number.then(|| fraction.parse().ok())??;
    Some(number * 10_u64.pow(9 - u32::try_from(fraction.len()).ok()?))
}

/// Counts the days; years start in March, so that the leap day is the last one.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=longest).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let from_march = (month + 9) % 12;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leap_days + (153 * from_march + 2) / 5 + day - 1 - 719_468)
}

/// Formats a time, with only as many decimals as it has.
pub(super) fn write(time: SystemTime, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (seconds, nanos) = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let borrow = i64::from(before.subsec_nanos() > 0);
            let nanos = (1_000_000_000 - before.subsec_nanos()) % 1_000_000_000;
            (-(before.as_secs() as i64) - borrow, nanos)
        }
    };
    let (days, rest) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    write!(
        f,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    )?;
    if nanos > 0 {
        let digits = format!("{nanos:09}");
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    f.write_str("Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shown(SystemTime);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write(self.0, f)
        }
    }

    fn at(seconds: i64) -> SystemTime {
        let by = Duration::from_secs(seconds.unsigned_abs());
        match seconds < 0 {
            true => SystemTime::UNIX_EPOCH - by,
            false => SystemTime::UNIX_EPOCH + by,
        }
    }

    #[test]
    fn known_times_are_read_and_written() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-03-01T00:00:00Z", 951_868_800),
            ("2024-02-29T23:59:59Z", 1_709_251_199),
            ("2106-02-07T06:28:15Z", 4_294_967_295),
            ("1969-12-31T23:59:58Z", -2),
        ] {
            assert_eq!(parse(text), Some(at(seconds)), "{text}");
            assert_eq!(Shown(at(seconds)).to_string(), text);
        }
        let fine = SystemTime::UNIX_EPOCH + Duration::new(1_656_550_923, 226_942_000);
        assert_eq!(parse("2022-06-30T01:02:03.226942Z"), Some(fine));
        assert_eq!(parse("2022-06-30 01:02:03.226942"), Some(fine));
        assert_eq!(Shown(fine).to_string(), "2022-06-30T01:02:03.226942Z");
        let before = SystemTime::UNIX_EPOCH - Duration::from_millis(1250);
        assert_eq!(Shown(before).to_string(), "1969-12-31T23:59:58.75Z");
    }

    #[test]
    fn every_day_of_three_centuries_round_trips() {
        for days in -36_525..73_050 {
            let (year, month, day) = date(days);
            assert_eq!(days_since_1970(year, month, day), Some(days));
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2024-02-29",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-1-01T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00.1234567890Z",
            "2024-01-01T00:00Z",
            "+024-01-01T00:00:00Z",
            "2024-01-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
