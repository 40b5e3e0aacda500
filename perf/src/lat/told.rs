// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the asking worker tells the process that started it, in one line of JSON. The reference's ping has the same.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::round_trips::{hand_over, histogram_of};

/// The line.
#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line {
    Latency(Told),
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// How long was recorded.
    pub seconds: f64,
    /// Messages of the schedule; back to back as many as were sent.
    pub planned: u64,
    /// Messages that left.
    pub sent: u64,
    /// Those of them that were not answered.
    pub lost: u64,
    /// Answers that came again, or to nothing that was asked.
    pub duplicated: u64,
    /// Answers that came after a later one.
    pub reordered: u64,
    /// (nanoseconds, how often), ascending.
    pub nanos_times: Vec<(u64, u64)>,
    /// What the load on the same link moved meanwhile, if there was one.
    pub load_bytes_per_second: Option<f64>,
}

impl Told {
    /// The line, without its end.
    pub fn to_line(&self) -> String {
        // plain numbers always become JSON
        serde_json::to_string(&Line::Latency(self.clone())).unwrap_or_default()
    }

    /// Reads a line; `None` for any other.
    pub fn parse(line: &str) -> Option<Told> {
        let Line::Latency(told) = serde_json::from_str(line).ok()?;
        Some(told)
    }

    /// Prints the line, and stays for a while.
    pub fn hand_over(&self) {
        hand_over(&self.to_line());
    }

    /// The recorded latencies in nanoseconds.
    pub fn histogram(&self) -> Histogram<u64> {
        histogram_of(self.nanos_times.iter().copied())
    }

    /// Answers recorded per second.
    pub fn rate(&self) -> f64 {
        let answers: u64 = self.nanos_times.iter().map(|(_, times)| times).sum();
        answers as f64 / self.seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_survives() {
        let told = Told {
            seconds: 0.5,
            planned: 4,
            sent: 3,
            lost: 0,
            duplicated: 1,
            reordered: 2,
            nanos_times: vec![(900, 2), (1100, 1)],
            load_bytes_per_second: Some(2.5e9),
        };
        let line = told.to_line();
        assert!(
            line.starts_with(r#"{"event":"latency","seconds":0.5"#),
            "{line}"
        );
        assert_eq!(Told::parse(&line).as_ref(), Some(&told));
        assert_eq!((told.rate(), told.histogram().len()), (6.0, 3));
        for other in ["", "{}", r#"{"event":"measuring"}"#, "64 bytes: seq=3"] {
            assert_eq!(Told::parse(other), None, "{other}");
        }
    }
}
