// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures one round-trip cell: the histogram that the asking program recorded, or the samples that
//! the reference's prints, and the CPU time per round trip where its start is known.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::case::Case;
use super::cpu::cpu_time;
use super::event::{Event, RoundTrips};
use super::process::Said;
use super::round_trips::histogram;
use super::stage::Stage;
use super::system::{Span, System};
use super::throughput::CpuPerMessage;
use super::trouble::Trouble;
use crate::arguments::Interrupt;

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
    /// Each program's CPU time per round trip.
    pub cpu: CpuPerMessage,
}

impl Trips {
    /// The round trip at a percentile (0 to 100), in microseconds.
    pub fn micros(&self, percentile: f64) -> f64 {
        self.histogram.value_at_quantile(percentile / 100.0) as f64 / 1e3
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
    let mut cpu_before: Option<Vec<Option<Duration>>> = None;
    let cpu_now = |stage: &Stage| {
        stage
            .programs()
            .iter()
            .map(|(_, p)| cpu_time(p.pid()))
            .collect()
    };
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
            Some(Event::Measuring) => cpu_before = Some(cpu_now(&stage)),
            Some(Event::RoundTrips(result)) => {
                let cpu_after = cpu_now(&stage);
                let roles = stage.programs().iter().map(|(role, _)| *role).collect();
                return told(&result, roles, &cpu_before.unwrap_or_default(), &cpu_after)
                    .ok_or_else(|| stage.sender.died());
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
    roles: Vec<&'static str>,
    before: &[Option<Duration>],
    after: &[Option<Duration>],
) -> Option<Trips> {
    let mut all = histogram();
    for &(nanos, times) in &result.histogram {
        all.saturating_record_n(nanos, times);
    }
    if all.is_empty() {
        return None;
    }
    let count = all.len() as f64;
    let cpu = roles.into_iter().enumerate().map(|(i, role)| {
        let used = before
            .get(i)
            .copied()
            .flatten()
            .zip(after.get(i).copied().flatten());
        (
            role,
            used.map(|(b, a)| a.saturating_sub(b).as_nanos() as f64 / count),
        )
    });
    Some(Trips {
        rate: count / result.seconds,
        histogram: all,
        cpu: cpu.collect(),
    })
}

/// The result of a program that prints samples. They follow each other at once, so their sum is the
/// time they took.
fn printed(samples: Histogram<u64>) -> Trips {
    let rate = 1e9 / samples.mean();
    Trips {
        rate,
        histogram: samples,
        cpu: Vec::new(),
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
        let second = |s| Some(Duration::from_secs(s));
        let trips = told(
            &result,
            vec!["sender", "receiver"],
            &[second(1), None],
            &[second(2), None],
        )
        .expect("a hundred samples");
        assert_eq!(trips.rate, 200.0);
        assert!((trips.micros(50.0) - 10.0).abs() < 0.1);
        assert!((trips.micros(99.0) - 50.0).abs() < 0.1);
        assert!((trips.max_micros() - 200.0).abs() < 0.2);
        assert_eq!(trips.cpu, [("sender", Some(1e7)), ("receiver", None)]);
        let nothing = RoundTrips {
            seconds: 0.5,
            histogram: vec![],
        };
        assert!(told(&nothing, vec![], &[], &[]).is_none());
    }
}
