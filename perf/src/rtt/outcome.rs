// SPDX-License-Identifier: MIT OR Apache-2.0
//! The result of a run, as JSON for other programs (such as the matrix) and as text.

use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::Options;
use super::place;
use super::samples::Recording;
use crate::histogram::{micros, pairs};
use crate::machine;
use crate::record::Pairs;

/// Percentiles that are printed and written.
pub const PERCENTILES: [(&str, f64); 6] = [
    ("p2.5", 2.5),
    ("p50", 50.0),
    ("p90", 90.0),
    ("p97.5", 97.5),
    ("p99", 99.0),
    ("p99.9", 99.9),
];

/// The part of the result that another program reads.
#[derive(Clone, Debug, Deserialize)]
pub struct Outcome {
    /// Round trips per second.
    pub achieved_per_second: f64,
    /// Messages sent.
    pub sent: u64,
    /// Messages without an answer in time.
    pub lost: u64,
    /// CPU time of the asking side for each round trip, in nanoseconds.
    pub cpu_ns_per_round_trip: Option<f64>,
    /// Sleeps of the asking side's threads, for each round trip.
    pub sleeps_per_round_trip: Option<f64>,
    /// Round trips without the first and last two: (nanoseconds, count).
    pub nanos_times: Pairs,
}

/// Returns the result as one object, of which a part is an [`Outcome`].
pub fn to_json(recording: &Recording, options: &Options) -> Value {
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
        "achieved_per_second": recording.rate(),
        "sent": recording.sent,
        "answered": recording.answered(),
        "lost": recording.lost,
        "late": recording.late,
        "seconds": recording.elapsed.as_secs_f64(),
        "cpu_ns_per_round_trip": recording.cpu_nanos(),
        "sleeps_per_round_trip": recording.sleeps(),
        "machine": machine::machine(),
        "conditions": place::conditions(),
        "congestion": options.congestion,
        "nice": options.nice,
        "quirks": options.quirks,
        "nanos_times": pairs(&recording.histogram()),
    })
}

/// Returns the result as a few lines of text.
pub fn to_text(recording: &Recording, options: &Options) -> String {
    let (wanted, histogram) = (options.wanted(), recording.histogram());
    // values that may be unknown
    let each = |figure: Option<f64>, unit: &str| match figure {
        Some(f) => format!("{f:.1} {unit}"),
        None => "not known".into(),
    };
    let percentiles = PERCENTILES.map(|(name, p)| format!("{name} {:.1}", micros(&histogram, p)));
    format!(
        "rate: wanted {}/s, achieved {:.1}/s\n\
         messages: {} sent, {} answered, {} lost ({:.2} %), {} late, in {:.2} s\n\
         round trip µs: min {:.1}  {}  max {:.1}\n\
         for each: CPU {}, sleeps {}",
        wanted.map_or("inf".into(), |w| format!("{w:.1}")),
        recording.rate(),
        recording.sent,
        recording.answered(),
        recording.lost,
        recording.lost as f64 * 100.0 / recording.sent.max(1) as f64,
        recording.late,
        recording.elapsed.as_secs_f64(),
        histogram.min() as f64 / 1e3,
        percentiles.join("  "),
        histogram.max() as f64 / 1e3,
        each(recording.cpu_nanos().map(|n| n / 1e3), "µs"),
        each(recording.sleeps(), "times"),
    )
}
