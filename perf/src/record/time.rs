// SPDX-License-Identifier: MIT OR Apache-2.0
//! The present moment as RFC 3339 writes it.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400;
/// Days of 400 years of the Gregorian calendar, after which it repeats itself.
const ERA: u64 = 146_097;
/// Days from the first of March of year 0 to the first of January 1970.
const EPOCH: u64 = 719_468;

/// Now, in UTC, to the second.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    text(since.unwrap_or_default().as_secs())
}

/// Seconds since 1970 as date and time.
pub fn text(seconds: u64) -> String {
    let (year, month, day) = date(seconds / DAY);
    let rest = seconds % DAY;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Years are counted from March here, so that the day that some of them lack is their last one.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH;
    let (era, of_era) = (days / ERA, days % ERA);
    // leap days so far in the era come off: one in 4 years, not in 100, but in 400
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / (ERA - 1)) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // five months from March on have 153 days, and so have the next five
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}
