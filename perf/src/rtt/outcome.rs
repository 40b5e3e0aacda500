// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result of a run, as JSON for other programs (of which the matrix is one) and as text.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::arguments::Options;
use super::place;
use super::samples::Recording;
use crate::histogram::{histogram_of, micros, pairs};
use crate::machine;

/// Percentiles that are shown and written.
pub const PERCENTILES: [(&str, f64); 6] = [
    ("p2.5", 2.5),
    ("p50", 50.0),
    ("p90", 90.0),
    ("p97.5", 97.5),
    ("p99", 99.0),
    ("p99.9", 99.9),
];

/// What a run showed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Round trips per second.
    pub achieved: f64,
    /// Messages sent.
    pub sent: u64,
    /// Round trips.
    pub answered: u64,
    /// Messages without an answer in time.
    pub lost: u64,
    /// Answers after their time.
    pub late: u64,
    /// How long it went on.
    pub seconds: f64,
    /// CPU time of the asking side for each round trip, in nanoseconds.
    pub cpu_nanos: Option<f64>,
    /// Times that a thread of the asking side went to sleep, for each round trip.
    pub sleeps: Option<f64>,
    /// Round trips in nanoseconds, without the first and last two.
    pub histogram: Histogram<u64>,
}

impl Outcome {
    /// What was recorded.
    pub fn of(recording: &Recording) -> Self {
        let each = |figure: f64| figure / recording.answered().max(1) as f64;
        Outcome {
            achieved: recording.rate(),
            sent: recording.sent,
            answered: recording.answered(),
            lost: recording.lost,
            late: recording.late,
            seconds: recording.elapsed.as_secs_f64(),
            cpu_nanos: recording.usage.cpu.map(|d| each(d.as_nanos() as f64)),
            sleeps: recording.usage.sleeps.map(|n| each(n as f64)),
            histogram: recording.histogram(),
        }
    }

    /// The round trip at a percentile (0 to 100), in microseconds.
    pub fn micros(&self, percentile: f64) -> f64 {
        micros(&self.histogram, percentile)
    }

    /// The share of messages that were lost, in percent.
    pub fn loss_percent(&self) -> f64 {
        self.lost as f64 * 100.0 / self.sent.max(1) as f64
    }

    /// As one object.
    pub fn to_json(&self, options: &Options) -> Value {
        json!({
            "event": "outcome",
            "framework": options.framework(),
            "transport": options.protocol.name(),
            "payload": options.size,
            "tasks": options.tasks,
            "cpu_work": options.cpu_work,
            "pacing": options.pacing.name(),
            "mode": if options.pipelined { "pipelined" } else { "wait" },
            "wanted_per_second": options.wanted(),
            "achieved_per_second": self.achieved,
            "sent": self.sent,
            "answered": self.answered,
            "lost": self.lost,
            "late": self.late,
            "seconds": self.seconds,
            "cpu_ns_per_round_trip": self.cpu_nanos,
            "sleeps_per_round_trip": self.sleeps,
            "machine": machine::machine(),
            "conditions": place::conditions(),
            "congestion": options.congestion,
            "nice": options.nice,
            "quirks": options.quirks,
            "nanos_times": pairs(&self.histogram),
        })
    }

    /// The figures of [`Outcome::to_json`]; `None` if that is something else.
    pub fn from_json(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        (value.get("event")?.as_str()? == "outcome").then_some(())?;
        let count = |name: &str| value.get(name)?.as_u64();
        let figure = |name: &str| value.get(name)?.as_f64();
        let pairs = value.get("nanos_times")?.clone();
        let pairs: Vec<(u64, u64)> = serde_json::from_value(pairs).ok()?;
        Some(Outcome {
            achieved: figure("achieved_per_second")?,
            sent: count("sent")?,
            answered: count("answered")?,
            lost: count("lost")?,
            late: count("late")?,
            seconds: figure("seconds")?,
            cpu_nanos: figure("cpu_ns_per_round_trip"),
            sleeps: figure("sleeps_per_round_trip"),
            histogram: histogram_of(pairs),
        })
    }

    /// As a few lines to read.
    pub fn to_text(&self, options: &Options) -> String {
        let wanted = options.wanted().map_or("inf".into(), |w| format!("{w:.1}"));
        let each = |figure: Option<f64>, unit: &str| match figure {
            Some(f) => format!("{f:.1} {unit}"),
            None => "not known".into(),
        };
        let percentiles: Vec<String> = PERCENTILES
            .iter()
            .map(|(name, p)| format!("{name} {:.1}", self.micros(*p)))
            .collect();
        format!(
            "rate: wanted {wanted}/s, achieved {:.1}/s\n\
             messages: {} sent, {} answered, {} lost ({:.2} %), {} late, in {:.2} s\n\
             round trip µs: min {:.1}  {}  max {:.1}\n\
             for each: CPU {}, sleeps {}",
            self.achieved,
            self.sent,
            self.answered,
            self.lost,
            self.loss_percent(),
            self.late,
            self.seconds,
            self.histogram.min() as f64 / 1e3,
            percentiles.join("  "),
            self.histogram.max() as f64 / 1e3,
            each(self.cpu_nanos.map(|n| n / 1e3), "µs"),
            each(self.sleeps, "times"),
        )
    }
}
