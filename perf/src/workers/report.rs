// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result of round trips, which an asking worker prints as one line of JSON. The reference's
//! ping in `peers/zenoh` prints the same, and `perf rtt` a line with more fields.

use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use zonda_program::print;

/// The time a worker stays after its report.
const LINGER: Duration = Duration::from_secs(2);

/// The line of a report.
#[derive(Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line {
    #[serde(alias = "outcome")]
    Latency(Report),
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Duration of the recording.
    pub seconds: f64,
    /// Messages of the schedule; back to back, the messages sent.
    #[serde(default)]
    pub planned: u64,
    /// Messages that left.
    pub sent: u64,
    /// Messages sent that were not answered.
    pub lost: u64,
    /// Answers that were repeated, or that belong to no message.
    #[serde(default)]
    pub duplicated: u64,
    /// Answers that arrived after a later one.
    #[serde(default)]
    pub reordered: u64,
    /// Pairs of nanoseconds and count, ascending.
    pub nanos_times: Vec<(u64, u64)>,
    /// The rate of the load on the same link, if there was one.
    pub load_bytes_per_second: Option<f64>,
}

impl Report {
    /// Creates the report of samples that follow each other at once.
    pub fn of_samples(nanos_times: Vec<(u64, u64)>, seconds: f64) -> Self {
        Report {
            seconds,
            nanos_times,
            ..Report::default()
        }
    }

    /// Returns the line, without its end.
    pub fn to_line(&self) -> String {
        // plain numbers always become JSON
        serde_json::to_string(&Line::Latency(self.clone())).unwrap_or_default()
    }

    /// Parses a line; `None` if it is no report.
    pub fn parse(line: &str) -> Option<Report> {
        let Line::Latency(report) = serde_json::from_str(line).ok()?;
        Some(report)
    }

    /// Prints the line, and stays for a while: the process that started this worker first reads the
    /// resources that it and the other programs have used, which the system discards with the
    /// process, and then ends it.
    pub fn hand_over(&self) {
        print(format_args!("{}", self.to_line()));
        thread::sleep(LINGER);
    }

    /// Returns the recorded answers per second.
    pub fn rate(&self) -> f64 {
        let answers: u64 = self.nanos_times.iter().map(|(_, times)| times).sum();
        answers as f64 / self.seconds
    }

    /// Returns the faults with messages, if any. Losses on a lossy link are no fault.
    pub fn fault(&self, is_lossy: bool) -> Option<String> {
        let (lost, twice, late) = (self.lost, self.duplicated, self.reordered);
        (twice + late > 0 || lost > 0 && !is_lossy)
            .then(|| format!("{lost} messages lost, {twice} answered twice, {late} out of order"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_survives() {
        let report = Report {
            seconds: 0.5,
            planned: 4,
            sent: 3,
            lost: 0,
            duplicated: 1,
            reordered: 2,
            nanos_times: vec![(900, 2), (1100, 1)],
            load_bytes_per_second: Some(2.5e9),
        };
        let line = report.to_line();
        assert!(
            line.starts_with(r#"{"event":"latency","seconds":0.5"#),
            "{line}"
        );
        assert_eq!(Report::parse(&line).as_ref(), Some(&report));
        assert_eq!(report.rate(), 6.0);
        assert!(
            report
                .fault(false)
                .is_some_and(|f| f.contains("1 answered twice"))
        );
        for other in ["", "{}", r#"{"event":"measuring"}"#, "64 bytes: seq=3"] {
            assert_eq!(Report::parse(other), None, "{other}");
        }
    }

    #[test]
    fn the_raw_ping_pong_is_understood() {
        let line = r#"{"event":"outcome","framework":"std","seconds":0.5,"sent":2,"lost":0,"nanos_times":[[900,2]]}"#;
        let report = Report::parse(line).expect("an outcome");
        assert_eq!((report.rate(), report.fault(false)), (4.0, None));
    }
}
