// SPDX-License-Identifier: MIT OR Apache-2.0
//! One round of one entry: fresh programs, the line that the asking one hands over, and what each of them used meanwhile.

use std::time::{Duration, Instant};

use zonda_program::Interrupt;

use super::cast::Players;
use super::plan::Entry;
use super::told::Told;
use crate::event::Event;
use crate::footprint::Footprint;
use crate::process::Said;
use crate::record::Better::{Higher, Lower};
use crate::record::Cell;
use crate::stage::Stage;
use crate::trouble::Trouble;

/// Beyond the time of the measurement itself, for starting, contact and lost messages.
const PATIENCE: Duration = Duration::from_secs(40);
/// Percentiles of the tables, by their names in the record.
pub const PERCENTILES: [(&str, f64); 4] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
/// The longest latency, in the record.
pub const MAX: &str = "max";

/// What one round showed.
#[derive(Clone, Debug)]
pub struct Round {
    told: Told,
    used: Vec<Used>,
}

/// What a program used.
#[derive(Clone, Debug)]
struct Used {
    role: &'static str,
    cpu: Option<Duration>,
    wall: Duration,
}

/// What each program used so far, and when that was looked at.
struct Reading {
    at: Instant,
    footprints: Vec<(&'static str, Footprint)>,
}

impl Reading {
    fn of(stage: &Stage) -> Reading {
        Reading {
            at: Instant::now(),
            footprints: stage.footprints(),
        }
    }

    fn since(&self, before: &Reading) -> Vec<Used> {
        let wall = self.at - before.at;
        let both = before.footprints.iter().zip(&self.footprints);
        both.map(|((role, before), (_, after))| Used {
            role,
            cpu: before.cpu.zip(after.cpu).map(|(b, a)| a.saturating_sub(b)),
            wall,
        })
        .collect()
    }
}

/// Runs the programs until the asking one has its result.
pub fn measure(players: &Players<'_>, interrupt: &Interrupt) -> Result<Round, Trouble> {
    let system = &players.contender.system;
    let mut stage = Stage::play(system, players.case.topology, players, interrupt)?;
    let length = players.span.warm_up * 2.0 + players.span.seconds * 2.0;
    let patience = PATIENCE + Duration::from_secs_f64(length);
    let until = Instant::now() + patience;
    let mut before = None;
    loop {
        let line = match stage.sender.line(until, interrupt)? {
            Said::Line(line) => line,
            Said::End => return Err(stage.sender.died()),
            Said::Nothing => {
                stage.check()?;
                return Err(Trouble::Late {
                    program: stage.sender.name().to_owned(),
                    what: "finish its round trips",
                    after: patience,
                });
            }
        };
        if let Some(Event::Measuring) = Event::parse(&line) {
            before = Some(Reading::of(&stage));
        } else if let Some(told) = Told::parse(&line) {
            let used = before.map(|before| Reading::of(&stage).since(&before));
            if told.nanos_times.is_empty() {
                return Err(Trouble::Late {
                    program: stage.receiver.name().to_owned(),
                    what: "answer any message that was to be recorded",
                    after: Duration::from_secs_f64(told.seconds),
                });
            }
            let used = used.unwrap_or_default();
            return Ok(Round { told, used });
        }
    }
}

impl Round {
    /// Messages lost, answers that came again, and those out of order.
    pub fn faults(&self) -> [u64; 3] {
        [self.told.lost, self.told.duplicated, self.told.reordered]
    }

    /// Appends the figures to those of the rounds before.
    pub fn add_to(&self, entry: &mut Entry) {
        let is_loaded = entry.case.load.is_some();
        let cell = &mut entry.cell;
        let histogram = self.told.histogram();
        let micros = |nanos: u64| nanos as f64 / 1e3;
        for (name, share) in PERCENTILES {
            cell.add(
                name,
                "us",
                Lower,
                micros(histogram.value_at_quantile(share)),
            );
        }
        cell.add(MAX, "us", Lower, micros(histogram.max()));
        cell.add("rate", "msg/s", Higher, self.told.rate());
        let unsent = self.told.planned - self.told.sent;
        cell.add("unsent", "msg", Lower, unsent as f64);
        for (name, count) in ["lost", "duplicated", "reordered"]
            .iter()
            .zip(self.faults())
        {
            cell.add(name, "msg", Lower, count as f64);
        }
        if let Some(bytes) = self.told.load_bytes_per_second {
            cell.add("load", "bit/s", Higher, bytes * 8.0);
        }
        self.add_cpu(cell, is_loaded);
    }

    fn add_cpu(&self, cell: &mut Cell, is_loaded: bool) {
        for Used { role, cpu, wall } in &self.used {
            let Some(cpu) = cpu else { continue };
            let percent = 100.0 * cpu.as_secs_f64() / wall.as_secs_f64();
            cell.add(&format!("cpu_percent_{role}"), "%", Lower, percent);
            // beside a load, it is the load's
            if !is_loaded {
                let each = cpu.as_nanos() as f64 / (self.told.rate() * wall.as_secs_f64());
                cell.add(&format!("cpu_{role}"), "ns/msg", Lower, each);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Case, Contender};
    use super::super::rates::Rate;
    use super::*;
    use crate::case::Topology;
    use crate::system::System;

    fn entry(load: Option<usize>) -> Entry {
        let contender = Contender {
            system: System::Bare {
                executable: "zonda".into(),
            },
            name: "bare sockets".into(),
            spin_us: None,
        };
        let case = Case {
            topology: Topology::PeerToPeer,
            size: 64,
            rate: Rate(Some(100.0)),
            load,
        };
        Entry::new(&contender, case)
    }

    fn round() -> Round {
        let told = Told {
            seconds: 2.0,
            planned: 205,
            sent: 202,
            lost: 2,
            duplicated: 1,
            reordered: 3,
            nanos_times: vec![(10_000, 198), (50_000, 1), (200_000, 1)],
            load_bytes_per_second: Some(1e9),
        };
        let used = |role, millis| Used {
            role,
            cpu: Some(Duration::from_millis(millis)),
            wall: Duration::from_secs(2),
        };
        let unknown = Used {
            role: "receiver",
            cpu: None,
            wall: Duration::from_secs(2),
        };
        Round {
            told,
            used: vec![used("sender", 500), unknown],
        }
    }

    #[test]
    fn a_round_becomes_figures() {
        let mut entry = entry(None);
        round().add_to(&mut entry);
        round().add_to(&mut entry);
        let all = |name: &str| entry.cell.metrics.get(name).map(|m| m.rounds.clone());
        let near = |name: &str, figure: f64| {
            let rounds = all(name).unwrap_or_default();
            let is_near = |f: &f64| (f - figure).abs() < figure * 0.002;
            assert!(
                rounds.len() == 2 && rounds.iter().all(is_near),
                "{name}: {rounds:?}"
            );
        };
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
            near(name, figure);
        }
        assert_eq!(
            (all("cpu_receiver"), all("cpu_percent_receiver")),
            (None, None)
        );
        assert_eq!(round().faults(), [2, 1, 3]);
    }

    #[test]
    fn beside_a_load_the_processor_time_is_not_the_messages() {
        let mut entry = entry(Some(1000));
        round().add_to(&mut entry);
        assert_eq!(entry.cell.median("load"), Some(8e9));
        assert_eq!(entry.cell.median("cpu_percent_sender"), Some(25.0));
        assert_eq!(entry.cell.median("cpu_sender"), None);
    }
}
