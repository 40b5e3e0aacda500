// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures one round-trip cell: the histogram that the asking program recorded, or the samples that
//! the reference's prints, and the CPU time per round trip where its start is known.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use zonda_program::Interrupt;

use super::case::Case;
use super::event::{Event, RoundTrips};
use super::footprint::{Costs, Footprint, costs};
use super::process::Said;
use super::round_trips::{histogram, histogram_of, micros};
use super::stage::Stage;
use super::system::{Span, System};
use super::trouble::Trouble;

/// Beyond the time of the measurement itself, for starting, contact and slow machines.
const PATIENCE: Duration = Duration::from_secs(20);
/// Percentiles of the table.
pub const PERCENTILES: [(&str, f64); 4] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

/// What one run showed.
#[derive(Clone, Debug)]
pub struct Trips {
    /// Round trips per second.
    pub rate: f64,
    /// Round trips in nanoseconds.
    pub histogram: Histogram<u64>,
    /// What each program used per round trip, where its beginning is known.
    pub costs: Costs,
}

impl Trips {
    /// The round trip at a percentile (0 to 100), in microseconds.
    pub fn micros(&self, percentile: f64) -> f64 {
        micros(&self.histogram, percentile)
    }

    /// The longest round trip, in microseconds.
    pub fn max_micros(&self) -> f64 {
        self.histogram.max() as f64 / 1e3
    }
}

/// Runs the programs of `case` until the asking one has its result.
pub fn measure(
    system: &System,
    case: &Case,
    span: Span,
    interrupt: &Interrupt,
) -> Result<Trips, Trouble> {
    let mut stage = Stage::set(system, case, span, interrupt)?;
    let patience = PATIENCE + Duration::from_secs_f64(span.warm_up + span.seconds * 20.0);
    let until = Instant::now() + patience;
    let mut samples = histogram();
    let mut before = Vec::new();
    loop {
        let line = match stage.sender.line(until, interrupt)? {
            Said::Line(line) => line,
            Said::End if samples.is_empty() => return Err(stage.sender.died()),
            Said::End => return Ok(printed(samples)),
            Said::Nothing => {
                stage.check()?;
                let program = stage.sender.name().to_owned();
                return Err(Trouble::Late {
                    program,
                    what: "finish its round trips",
                    after: patience,
                });
            }
        };
        match Event::parse(&line) {
            Some(Event::Measuring) => before = stage.footprints(),
            Some(Event::RoundTrips(result)) => {
                let after = stage.footprints();
                return told(&result, &before, &after).ok_or_else(|| stage.sender.died());
            }
            Some(_) => {}
            None => {
                if let Some(nanos) = printed_nanos(&line) {
                    samples.saturating_record(nanos);
                }
            }
        }
    }
}

/// The result of a worker; `None` if it recorded nothing.
fn told(
    result: &RoundTrips,
    before: &[(&'static str, Footprint)],
    after: &[(&'static str, Footprint)],
) -> Option<Trips> {
    let all = histogram_of(result.histogram.iter().copied());
    if all.is_empty() {
        return None;
    }
    let count = all.len() as f64;
    Some(Trips {
        rate: count / result.seconds,
        histogram: all,
        costs: costs(before, after, count),
    })
}

/// The result of a program that prints samples. They follow each other at once, so their sum is the
/// time they took.
fn printed(samples: Histogram<u64>) -> Trips {
    let rate = 1e9 / samples.mean();
    Trips {
        rate,
        histogram: samples,
        costs: Vec::new(),
    }
}

/// The round trip in a line `64 bytes: seq=3 rtt=61.5µs lat=30.7µs`, in nanoseconds.
fn printed_nanos(line: &str) -> Option<u64> {
    let number = line.split("rtt=").nth(1)?;
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let micros: f64 = number.get(..end)?.parse().ok()?;
    Some((micros * 1e3) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_lines_are_read() {
        assert_eq!(
            printed_nanos("64 bytes: seq=3 rtt=61.5µs lat=30.7µs"),
            Some(61_500)
        );
        assert_eq!(
            printed_nanos("64 bytes: seq=3 rtt=61us lat=30us"),
            Some(61_000)
        );
        assert_eq!(printed_nanos("64 bytes: p50=61.5µs"), None);
        assert_eq!(printed_nanos("rtt=µs"), None);
    }

    #[test]
    fn a_workers_histogram_keeps_its_percentiles() {
        let result = RoundTrips {
            seconds: 0.5,
            histogram: vec![(10_000, 98), (50_000, 1), (200_000, 1)],
        };
        let second = |s| Footprint {
            cpu: Some(Duration::from_secs(s)),
            ..Footprint::default()
        };
        let nothing = ("receiver", Footprint::default());
        let before = [("sender", second(1)), nothing];
        let after = [("sender", second(2)), nothing];
        let trips = told(&result, &before, &after).expect("a hundred samples");
        assert_eq!(trips.rate, 200.0);
        assert!((trips.micros(50.0) - 10.0).abs() < 0.1);
        assert!((trips.micros(99.0) - 50.0).abs() < 0.1);
        assert!((trips.max_micros() - 200.0).abs() < 0.2);
        let cpu: Vec<_> = trips.costs.iter().map(|(_, c)| c.cpu_nanos).collect();
        assert_eq!(cpu, [Some(1e7), None]);
        let nothing = RoundTrips {
            seconds: 0.5,
            histogram: vec![],
        };
        assert!(told(&nothing, &[], &[]).is_none());
    }
}
