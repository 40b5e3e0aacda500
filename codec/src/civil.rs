// SPDX-License-Identifier: MIT OR Apache-2.0
//! Days of the calendar.

/// Returns the year, month and day that is so many days after 1970-01-01. Years start in March, so
/// that the leap day is the last day.
#[must_use]
pub const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + (month <= 2) as i64;
    (year, month, day)
}
