// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates in the usual notation: `1`, `2.5`, `10k`, `1M`.

use std::cmp::Ordering;
use std::fmt;

/// The maximum rate that can be requested.
const FASTEST: f64 = 1e8;
/// The maximum number of seconds per message.
const SLOWEST_SECONDS: f64 = 1000.0;

/// Parses messages per second.
///
/// # Errors
/// Returns the fault, in words for the user.
pub fn rate(text: &str) -> Result<f64, String> {
    let wrong =
        || format!("{text:?} is no rate: expected messages per second, such as 1, 10k, 1M or 0.5");
    let lower = text.trim().to_lowercase();
    let (number, unit) = match lower.strip_suffix('k') {
        Some(number) => (number, 1e3),
        None => match lower.strip_suffix('m') {
            Some(number) => (number, 1e6),
            None => (lower.as_str(), 1.0),
        },
    };
    let rate = number.parse::<f64>().map_err(|_| wrong())? * unit;
    match rate {
        r if (1.0 / SLOWEST_SECONDS..=FASTEST).contains(&r) => Ok(r),
        r if r.is_finite() => Err(format!(
            "{text}: a rate is from 0.001 to 100M messages per second"
        )),
        _ => Err(wrong()),
    }
}

/// The pace of messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// The next message leaves when the answer has arrived.
    BackToBack,
    /// At most this many a second: the next message leaves when it is due and the answer has
    /// arrived.
    Paced(u32),
    /// Messages per second: each leaves when it is due, however many are in flight.
    Rate(f64),
}

impl Pace {
    /// Returns the wanted messages per second, if that is a number.
    pub fn hertz(self) -> Option<f64> {
        match self {
            Pace::BackToBack => None,
            Pace::Paced(hertz) => Some(hertz.into()),
            Pace::Rate(rate) => Some(rate),
        }
    }

    /// Compares two paces, the slower one first.
    pub fn order(&self, other: &Pace) -> Ordering {
        let number = |pace: &Pace| pace.hertz().unwrap_or(f64::INFINITY);
        number(self).total_cmp(&number(other))
    }
}

/// Parses a pace: a [`rate`], or `max` for back to back.
///
/// # Errors
/// Returns the fault, in words for the user.
pub fn pace(text: &str) -> Result<Pace, String> {
    match text.trim() {
        "max" => Ok(Pace::BackToBack),
        text => rate(text)
            .map(Pace::Rate)
            .map_err(|e| format!("{e}; max is back to back")),
    }
}

/// Formats a number with k or M.
pub fn count(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{}M", n / 1e6),
        n if n >= 1e3 => format!("{}k", n / 1e3),
        n => n.to_string(),
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pace::BackToBack => f.write_str("back to back"),
            Pace::Paced(hertz) => write!(f, "{}Hz", count((*hertz).into())),
            Pace::Rate(rate) => write!(f, "{}/s", count(*rate)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_as_people_write_them() {
        let read = |text| pace(text).map(Pace::hertz);
        for (text, expected) in [
            ("1", Some(1.0)),
            ("0.5", Some(0.5)),
            ("10k", Some(1e4)),
            ("1M", Some(1e6)),
            ("max", None),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
        for wrong in ["", "k", "0", "-1", "nan", "inf", "200M", "fast", "1g"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let shown = ["1", "1000", "2500", "1M", "max"].map(|t| pace(t).map(|r| r.to_string()));
        let expected = ["1/s", "1k/s", "2.5k/s", "1M/s", "back to back"];
        assert_eq!(shown, expected.map(|t| Ok(t.to_owned())));
    }
}
