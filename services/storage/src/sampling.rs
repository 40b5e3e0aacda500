// SPDX-License-Identifier: MIT OR Apache-2.0

//! Downsampled answers from a history: of each key the first value of each interval.

use zonda::query::{Parameters, TimeExpr, ZenohParameters};
use zonda::time::Timestamp;

/// Parameter of a query: the length of the intervals, such as `1s`.
const EVERY: &str = "_every";

/// Shortest interval, in seconds.
const SHORTEST: f64 = 1e-6;

/// The intervals of an answer, which begin at the multiples of their length since 1970. The values
/// come in the order of their keys, and those of a key in the order of their times.
#[derive(Debug)]
pub struct Sampling {
    /// Length of an interval in nanoseconds.
    length: u128,
    /// Key and interval of the last value that was taken.
    last: Option<(String, u128)>,
}

impl Sampling {
    /// Reads the parameters of a query; `None` if it asks for all values.
    ///
    /// # Errors
    /// The parameter is no length of time, or the query has no `_time`.
    pub fn of(parameters: &Parameters<'_>, has_history: bool) -> Result<Option<Sampling>, String> {
        let Some(text) = parameters.get(EVERY) else {
            return Ok(None);
        };
        if !has_history {
            return Err(format!(
                "`{EVERY}` needs a storage with a `history`, and this one keeps last values alone"
            ));
        }
        if parameters.time_range().is_none() {
            return Err(format!(
                "`{EVERY}` needs a time, such as `_time=[now(-1h)..]`, or `_time=[..]` for all"
            ));
        }
        // The lengths of `_time`.
        let length = match format!("now({text})").parse() {
            Ok(TimeExpr::Now { offset_secs }) if (SHORTEST..1e9).contains(&offset_secs) => {
                (offset_secs * 1e9) as u128
            }
            _ => {
                return Err(format!(
                    "`{EVERY}={text}` is no length of time; write one such as 1s, 500ms or 1h"
                ));
            }
        };
        let last = None;
        Ok(Some(Sampling { length, last }))
    }

    /// Returns true if a value is the first one of its key in its interval.
    pub fn takes(&mut self, key: &str, at: &Timestamp) -> bool {
        let interval = at.time().to_unix().as_nanos() / self.length;
        let is_same = |(last, of): &(String, u128)| last == key && *of == interval;
        if self.last.as_ref().is_some_and(is_same) {
            return false;
        }
        self.last = Some((key.to_owned(), interval));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use zonda::config::ZenohId;
    use zonda::time::Ntp64;

    use super::*;

    #[test]
    fn intervals_begin_at_multiples_of_their_length() {
        let parameters = Parameters::from("_time=[..];_every=1s");
        let mut sampling = Sampling::of(&parameters, true)
            .expect("it is well formed")
            .expect("it is there");
        let id = ZenohId::try_from(&[1][..]).expect("an id");
        let at = |ms| Timestamp::new(Ntp64::from_unix(Duration::from_millis(ms)), id);
        for (key, ms, is_taken) in [
            ("a", 1_900, true),
            ("a", 2_100, true),
            ("a", 2_200, false),
            ("a", 2_900, false),
            ("a", 5_000, true),
            ("b", 5_000, true),
            ("b", 5_999, false),
        ] {
            assert_eq!(sampling.takes(key, &at(ms)), is_taken, "{key} at {ms}");
        }
    }

    #[test]
    fn what_cannot_be_sampled_is_one_line() {
        for (parameters, has_history, words) in [
            (
                "_time=[..];_every=1s",
                false,
                "needs a storage with a `history`",
            ),
            ("_every=1s", true, "needs a time"),
            (
                "_time=[..];_every=often",
                true,
                "`_every=often` is no length",
            ),
            ("_time=[..];_every=0s", true, "`_every=0s`"),
            ("_time=[..];_every=-1s", true, "`_every=-1s`"),
            ("_time=[..];_every=1e300w", true, "`_every=1e300w`"),
            ("_time=[..];_every", true, "`_every=` is no length"),
        ] {
            let error = Sampling::of(&Parameters::from(parameters), has_history);
            let error = error.expect_err(parameters);
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
        assert!(Sampling::of(&Parameters::from("_time=[..]"), false).is_ok_and(|it| it.is_none()));
    }
}
