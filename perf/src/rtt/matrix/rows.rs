// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells as rows of the studies: for each round one row for each time that occurred, with its
//! count; then the rate and the losses.

use std::fmt::Write;
use std::path::Path;

use zonda_program::Failure;

use super::plan::{ECHO, entry, framework};
use crate::campaign::Entry;
use crate::record::Better::{Higher, Lower, Neither};
use crate::record::Round;
use crate::rtt::csv::{Format, HEADER, Row};
use crate::rtt::samples::trimmed;
use crate::scenario::rates::Pace;
use crate::scenario::raw::{Pacing, Raw, Transport};
use crate::system::Span;

/// Returns the rows of all cells, of messages of `size` bytes.
pub fn csv(entries: &[Entry], size: usize) -> String {
    let mut text = format!("{HEADER}\n");
    for (entry, case) in entries.iter().filter_map(|e| Some((e, e.scenario.raw()?))) {
        let (cell, name) = (&entry.cell, entry.system.name.as_str());
        let mut add = |test: &str, count: u64, value: f64, unit: &str| {
            let row = Row {
                framework: name,
                transport: if name == ECHO {
                    name
                } else {
                    case.transport.name()
                },
                test: &format!("{test}-{}", case.pacing.name()),
                count,
                rate: case.rate.hertz(),
                payload: size,
                tasks: case.tasks,
                value,
                unit,
            };
            writeln!(text, "{}", row.text(Format::Zonda)).expect("a string takes everything");
        };
        // the times of each round, then its rate and losses
        for (round, pairs) in cell.nanos_times.iter().enumerate() {
            let figure = |metric| cell.rounds(metric).get(round).copied().unwrap_or(0.0);
            for (nanos, times) in pairs {
                add("rtt", *times, *nanos as f64, "ns");
            }
            let (sent, lost) = (figure("sent"), figure("lost"));
            let answered = (sent - lost).max(0.0) as u64;
            add("throughput", answered, figure("rate"), "1/s");
            add("lost", sent as u64, lost, "messages");
        }
    }
    text
}

/// Returns the round trips of one pacing as rows of a study, one for each round trip.
pub fn of_study(entries: &[Entry], size: usize, pacing: Pacing, format: Format) -> String {
    let mut text = format!("{HEADER}\n");
    let cases = entries.iter().filter_map(|e| Some((e, e.scenario.raw()?)));
    for (entry, case) in cases.filter(|(_, case)| case.pacing == pacing) {
        let name = entry.system.name.as_str();
        // the columns that all rows of the entry share
        let mut row = Row {
            framework: name,
            transport: if name == ECHO {
                name
            } else {
                case.transport.name()
            },
            test: "rtt",
            count: 0,
            rate: case.rate.hertz(),
            payload: size,
            tasks: case.tasks,
            value: 0.0,
            unit: "ns",
        };
        // one row for each round trip
        for (nanos, times) in entry.cell.nanos_times.iter().flatten() {
            row.value = *nanos as f64;
            for _ in 0..*times {
                writeln!(text, "{}", row.text(format)).expect("a string takes everything");
                row.count += 1;
            }
        }
    }
    text
}

/// A reader of rows.
pub struct Reader {
    /// The format of the rows.
    pub format: Format,
    /// The pacing of rows that do not contain one.
    pub pacing: Pacing,
    /// The size of the messages to read; if not given, the size in the first row.
    pub size: Option<usize>,
    /// The entries read so far.
    pub entries: Vec<Entry>,
}

impl Reader {
    /// Adds the rows of a file. Each run of rows with the same case, up to its losses, is a round
    /// of that case.
    pub fn read(&mut self, file: &Path, text: &str) -> Result<(), Failure> {
        let mut open: Option<Open> = None;
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line == HEADER {
                continue;
            }
            let wrong = |why: String| {
                Failure::Run(format!("{}:{}: {why}: {line}", file.display(), number + 1))
            };
            // rows of another size are skipped
            let row = Row::parse(line, self.format).map_err(wrong)?;
            let (framework, case, test) = self.case(&row).map_err(wrong)?;
            if row.payload != *self.size.get_or_insert(row.payload) {
                continue;
            }
            // another case ends the open round
            if open
                .as_ref()
                .is_some_and(|o| (o.framework, o.case) != (framework, case))
            {
                self.close(open.take());
            }
            // add the row to the round, which a row of losses ends
            let round = open.get_or_insert_with(|| Open::new(framework, case));
            match test {
                Test::Sample => round.samples.push(row.value as u64),
                Test::Times => round.pairs.push((row.value as u64, row.count)),
                Test::Throughput => round.achieved = Some(row.value),
                Test::Lost => {
                    round.counts = Some((row.count, row.value as u64));
                    self.close(open.take());
                }
            }
        }
        self.close(open);
        Ok(())
    }

    /// Returns the cell of a row, and the kind of its figure.
    fn case(&self, row: &Row<'_>) -> Result<(&'static str, Raw, Test), String> {
        let name = row.framework;
        let framework = framework(name).ok_or_else(|| format!("unknown framework {name}"))?;
        let transport = match row.transport {
            "udp" => Transport::Udp,
            "tcp" | "icmp" => Transport::Tcp,
            other => return Err(format!("unknown transport {other}")),
        };
        // rows of --csv have no pacing in the name of the test
        let (kind, pacing) = row.test.split_once('-').unwrap_or((row.test, ""));
        let test = match (kind, pacing) {
            ("rtt", "") => Test::Sample,
            ("rtt", _) => Test::Times,
            ("throughput", _) => Test::Throughput,
            ("lost", _) => Test::Lost,
            _ => return Err(format!("unknown test {}", row.test)),
        };
        let pacing = match pacing {
            "" => self.pacing,
            "exact" => Pacing::Exact,
            "seed" => Pacing::Seed,
            _ => return Err(format!("unknown test {}", row.test)),
        };
        let case = Raw {
            transport,
            pacing,
            tasks: row.tasks,
            rate: row.rate.map_or(Pace::BackToBack, Pace::Rate),
        };
        Ok((framework, case, test))
    }

    fn close(&mut self, open: Option<Open>) {
        let Some(open) = open else { return };
        let round = open.round();
        if round.nanos_times.is_empty() {
            return;
        }
        // the round belongs to an existing entry or a new one
        let is_it = |e: &&mut Entry| {
            e.system.name == open.framework && e.scenario.raw() == Some(&open.case)
        };
        match self.entries.iter_mut().find(is_it) {
            Some(entry) => entry.cell.append(round),
            None => {
                let mut entry = entry(open.framework, open.case, Span::new(0.0, 0.0));
                entry.cell.append(round);
                self.entries.push(entry);
            }
        }
    }
}

/// The kind of figure in a row.
#[derive(Clone, Copy, Debug)]
enum Test {
    /// One round trip.
    Sample,
    /// Several round trips of the same time, with their number.
    Times,
    /// The rate of a round.
    Throughput,
    /// The losses of a round, which end it.
    Lost,
}

/// A round in progress of being read.
struct Open {
    framework: &'static str,
    case: Raw,
    samples: Vec<u64>,
    pairs: Vec<(u64, u64)>,
    achieved: Option<f64>,
    /// Messages sent, and those of them lost.
    counts: Option<(u64, u64)>,
}

impl Open {
    fn new(framework: &'static str, case: Raw) -> Self {
        Open {
            framework,
            case,
            samples: Vec::new(),
            pairs: Vec::new(),
            achieved: None,
            counts: None,
        }
    }

    fn round(&self) -> Round {
        let mut pairs = self.pairs.clone();
        pairs.extend(trimmed(&self.samples).iter().map(|nanos| (*nanos, 1)));
        pairs.sort_unstable();
        let answered = pairs.iter().map(|(_, times)| times).sum();
        let (sent, lost) = self.counts.unwrap_or((answered, 0));
        let mut round = Round::of_latencies(pairs);
        round.add("sent", "msg", Neither, sent as f64);
        round.add("lost", "msg", Lower, lost as f64);
        if let Some(achieved) = self.achieved {
            round.add("rate", "msg/s", Higher, achieved);
        }
        round
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::micros;

    fn read(text: &str) -> Result<Vec<Entry>, Failure> {
        read_as(Format::Zonda, text)
    }

    fn read_as(format: Format, text: &str) -> Result<Vec<Entry>, Failure> {
        let mut reader = Reader {
            format,
            pacing: Pacing::Seed,
            size: None,
            entries: Vec::new(),
        };
        reader.read(Path::new("x.csv"), text)?;
        Ok(reader.entries)
    }

    #[test]
    fn single_rows_lose_their_ends_and_counted_ones_do_not() {
        let mut text = format!("{HEADER}\n");
        for micros in [900, 900, 10, 20, 30, 900, 900] {
            text += &format!("std,tcp,rtt,1,1000,64,0,{micros}000,ns\n");
        }
        text += "std,tcp,throughput,7,1000,64,0,998.5,1/s\nstd,tcp,lost,7,1000,64,0,0,messages\n";
        text +=
            "smol,udp,rtt-exact,3,inf,64,10,5000,ns\nsmol,udp,lost-exact,4,inf,64,10,1,messages\n";
        text += "smol,udp,rtt-exact,1,inf,128,10,7000,ns\n";
        let entries = read(&text).expect("rows");
        let [first, second] = &entries[..] else {
            panic!("the other size is left out: {entries:?}");
        };
        assert_eq!([first.cell.sum("sent"), first.cell.sum("lost")], [7.0, 0.0]);
        let latencies = first.cell.latencies().expect("round trips");
        assert!((micros(&latencies, 99.0) - 30.0).abs() < 0.1);
        assert_eq!(first.cell.median("rate"), Some(998.5));
        assert_eq!(first.to_string(), "tcp seed 1k/s 0 tasks std");
        assert_eq!(
            [second.cell.sum("sent"), second.cell.sum("lost")],
            [4.0, 1.0]
        );
        assert_eq!(second.to_string(), "udp exact inf/s 10 tasks smol");
        let again = read(&csv(&entries, 64)).expect("its own rows");
        assert_eq!(again[0].cell, first.cell);
    }

    #[test]
    fn rows_of_a_study_are_read_and_written_back() {
        let mut text = format!("{HEADER}\n");
        for (count, micros) in (0..).zip([10, 20, 20, 30, 40, 50]) {
            text += &format!("tokio,udp,rtt,{count},0.0001,64,10,{micros}000,ns\n");
        }
        text += "ping,icmp,rtt,0,0.001000,64,0,0.045,ms\n";
        let entries = read_as(Format::Eval2022, &text).expect("the study's rows");
        let names: Vec<String> = entries.iter().map(Entry::to_string).collect();
        assert_eq!(
            names,
            [
                "udp seed 10k/s 10 tasks tokio",
                "tcp seed 1k/s 0 tasks icmp"
            ]
        );
        let written = of_study(&entries, 64, Pacing::Seed, Format::NetBenchmark);
        let expected = format!(
            "{HEADER}\ntokio,udp,rtt,0,0.0001,64,10,20000,ns\ntokio,udp,rtt,1,0.0001,64,10,30000,ns\n\
             ping,icmp,rtt,0,0.001,64,0,45000,ns\n"
        );
        assert_eq!(
            written, expected,
            "the first two and the last two are left out"
        );
        assert_eq!(
            of_study(&entries, 64, Pacing::Exact, Format::Eval2022)
                .lines()
                .count(),
            1
        );
    }

    #[test]
    fn a_repeated_case_is_another_round() {
        let round = "std,tcp,rtt-exact,2,1,64,0,5000,ns\nstd,tcp,lost-exact,2,1,64,0,0,messages\n";
        let entries = read(&round.repeat(3)).expect("rows");
        assert_eq!(entries.len(), 1);
        assert_eq!(entries[0].cell.nanos_times.len(), 3);
    }

    #[test]
    fn a_wrong_row_is_named() {
        for (line, words) in [
            ("std,tcp", "2 columns"),
            ("glommio,tcp,rtt,1,1,64,0,5,ns", "framework glommio"),
            ("std,sctp,rtt,1,1,64,0,5,ns", "transport sctp"),
            ("std,tcp,jitter,1,1,64,0,5,ns", "test jitter"),
            ("std,tcp,rtt,1,often,64,0,5,ns", "no rate"),
            ("std,tcp,rtt,1,1,64,0,long,ns", "no number"),
        ] {
            let Err(Failure::Run(text)) = read(&format!("\n{line}\n")) else {
                panic!("{line} was understood");
            };
            assert!(
                text.starts_with("x.csv:2: ") && text.contains(words),
                "{text}"
            );
        }
    }
}
