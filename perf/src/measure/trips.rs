// SPDX-License-Identifier: MIT OR Apache-2.0
//! One round of round trips: the report of the asking program, or the samples that the reference's
//! own example prints, and the resources that each program used.

use std::time::{Duration, Instant};

use zonda_program::Failure;

use super::{ROLES, add_usage};
use crate::event::Event;
use crate::footprint::Footprint;
use crate::histogram::{histogram, histogram_of, pairs};
use crate::process::ProgramOutput;
use crate::processes::{Footprints, Processes};
use crate::record::Better::{Higher, Lower};
use crate::record::Round;
use crate::roles::Roles;
use crate::scenario::Trips;
use crate::workers::report::Report;

/// Time in addition to the measurement itself, for start, contact and lost messages.
const PATIENCE: Duration = Duration::from_secs(40);
/// Percentiles by their names in the record.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// The resources that each program has used, and the time of the reading.
struct Reading {
    at: Instant,
    footprints: Footprints,
}

impl Reading {
    fn of(processes: &Processes) -> Reading {
        Reading {
            at: Instant::now(),
            footprints: processes.footprints(),
        }
    }
}

/// Runs the programs until the asking one has its result.
pub fn measure(roles: Roles<'_>, trips: &Trips) -> Result<Round, Failure> {
    let mut processes = Processes::start(roles)?;
    // the reference takes as many samples as the fastest program would
    let length = (roles.span.warm_up + roles.span.seconds) * 20.0;
    let is_lossy = roles.system.link.is_lossy();
    let patience = PATIENCE + Duration::from_secs_f64(length);
    let until = Instant::now() + patience;
    let (mut before, mut samples) = (None, histogram());
    loop {
        let Some(asking) = processes.senders.first_mut() else {
            return Err(Failure::Run("no client is left to ask".into()));
        };
        let line = match asking.line(until)? {
            ProgramOutput::Line(line) => line,
            ProgramOutput::End if samples.is_empty() => return Err(asking.died()),
            ProgramOutput::End => {
                // samples follow each other at once, so their sum is the elapsed time
                let seconds = samples.mean() * samples.len() as f64 / 1e9;
                let report = Report::of_samples(pairs(&samples), seconds);
                return Ok(round(&report, trips, None, is_lossy));
            }
            ProgramOutput::Nothing => {
                let late = asking.late("finish its round trips", patience);
                processes.check()?;
                return Err(late);
            }
        };
        // the beginning, the end, or a sample
        if let Some(Event::Measuring) = Event::parse(&line) {
            before = Some(Reading::of(&processes));
        } else if let Some(report) = Report::parse(&line) {
            let after = Reading::of(&processes);
            if report.nanos_times.is_empty() {
                let time = Duration::from_secs_f64(report.seconds);
                let answering = processes.receivers.first().unwrap_or(&processes.senders[0]);
                return Err(answering.late("answer any message that was to be recorded", time));
            }
            return Ok(round(&report, trips, before.zip(Some(after)), is_lossy));
        } else if let Some(nanos) = printed_nanos(&line) {
            samples.saturating_record(nanos);
        }
    }
}

/// Returns the figures of a report, and of the resources used between two readings.
fn round(
    report: &Report,
    trips: &Trips,
    used: Option<(Reading, Reading)>,
    is_lossy: bool,
) -> Round {
    // latencies
    let mut round = Round::of_latencies(report.nanos_times.clone());
    round.fault = report.fault(is_lossy);
    let histogram = histogram_of(report.nanos_times.iter().copied());
    let micros = |nanos: u64| nanos as f64 / 1e3;
    for (name, share) in PERCENTILES {
        round.add(
            name,
            "us",
            Lower,
            micros(histogram.value_at_quantile(share)),
        );
    }
    round.add("max", "us", Lower, micros(histogram.max()));
    round.add("rate", "msg/s", Higher, report.rate());
    // messages that went wrong
    let unsent = report.planned.saturating_sub(report.sent);
    for (name, count) in [
        ("unsent", unsent),
        ("lost", report.lost),
        ("duplicated", report.duplicated),
        ("reordered", report.reordered),
    ] {
        round.add(name, "msg", Lower, count as f64);
    }
    if let Some(bytes) = report.load_bytes_per_second {
        round.add("load", "bit/s", Higher, bytes * 8.0);
    }
    // resources
    if let Some((before, after)) = used {
        let wall = (after.at - before.at).as_secs_f64();
        for role in ROLES {
            let busy = cpu(&after.footprints, role) - cpu(&before.footprints, role);
            if busy > 0.0 {
                let percent = 100.0 * busy / wall;
                round.add(format!("cpu_percent_{role}"), "%", Lower, percent);
            }
        }
        // with a load, most of the usage is the load's
        if trips.load.is_none() {
            let messages = report.rate() * wall;
            add_usage(&mut round, &before.footprints, &after.footprints, |_| {
                messages
            });
        }
    }
    round
}

/// Returns the CPU seconds of a role so far; zero if unknown.
fn cpu(footprints: &[(&'static str, Footprint)], role: &str) -> f64 {
    let of_role = footprints.iter().filter(|(of, _)| *of == role);
    of_role
        .filter_map(|(_, footprint)| Some(footprint.cpu?.as_secs_f64()))
        .sum()
}

/// Returns the round trip of a line `64 bytes: seq=3 rtt=61.5µs lat=30.7µs`, in nanoseconds.
fn printed_nanos(line: &str) -> Option<u64> {
    let number = line.split("rtt=").nth(1)?;
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let micros: f64 = number.get(..end)?.parse().ok()?;
    Some((micros * 1e3) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Cell;
    use crate::scenario::Topology;
    use crate::scenario::rates::Pace;

    fn figures(load: Option<usize>) -> Cell {
        let trips = Trips {
            topology: Topology::PeerToPeer,
            size: 64,
            pace: Pace::Rate(100.0),
            receiving: None,
            load,
            express: true,
        };
        let report = Report {
            seconds: 2.0,
            planned: 205,
            sent: 202,
            lost: 2,
            duplicated: 1,
            reordered: 3,
            nanos_times: vec![(10_000, 198), (50_000, 1), (200_000, 1)],
            load_bytes_per_second: Some(1e9),
        };
        let begin = Instant::now();
        let reading = |seconds, millis| {
            let footprint = Footprint {
                cpu: Some(Duration::from_millis(millis)),
                ..Footprint::default()
            };
            Reading {
                at: begin + Duration::from_secs(seconds),
                footprints: vec![("sender", footprint), ("receiver", Footprint::default())],
            }
        };
        let mut cell = Cell::new("zonda", "p2p");
        cell.append(round(
            &report,
            &trips,
            Some((reading(0, 100), reading(2, 600))),
            false,
        ));
        cell
    }

    #[test]
    fn a_report_becomes_figures() {
        let cell = figures(None);
        for (name, figure) in [
            ("p50", 10.0),
            ("p99", 10.0),
            ("p99.9", 200.0),
            ("max", 200.0),
            ("rate", 100.0),
            ("unsent", 3.0),
            ("lost", 2.0),
            ("duplicated", 1.0),
            ("reordered", 3.0),
            ("cpu_percent_sender", 25.0),
            // half a second for two hundred messages
            ("cpu_sender", 2.5e6),
        ] {
            let found = cell.median(name).unwrap_or_default();
            assert!((found - figure).abs() < figure * 0.002, "{name}: {found}");
        }
        for unknown in ["cpu_receiver", "cpu_percent_receiver"] {
            assert_eq!(cell.median(unknown), None);
        }
        assert!(
            cell.note
                .is_some_and(|note| note.contains("2 messages lost"))
        );
    }

    #[test]
    fn beside_a_load_the_processor_time_is_not_the_messages() {
        let cell = figures(Some(1000));
        assert_eq!(cell.median("load"), Some(8e9));
        assert_eq!(cell.median("cpu_percent_sender"), Some(25.0));
        assert_eq!(cell.median("cpu_sender"), None);
    }

    #[test]
    fn sample_lines_are_read() {
        for (line, nanos) in [
            ("64 bytes: seq=3 rtt=61.5µs lat=30.7µs", Some(61_500)),
            ("64 bytes: seq=3 rtt=61us lat=30us", Some(61_000)),
            ("64 bytes: p50=61.5µs", None),
            ("rtt=µs", None),
        ] {
            assert_eq!(printed_nanos(line), nanos, "{line}");
        }
    }
}
