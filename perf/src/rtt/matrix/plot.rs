// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf rtt plot`: the tables and the page from rows that were measured before, one by one with
//! `--csv` or by the matrix.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use zonda_program::{Failure, print, print_lines};

use super::files::{try_out, write};
use super::plan::{ECHO, Plan, framework};
use super::report::{Measured, Report};
use super::{page, table};
use crate::record::Better::{Higher, Lower, Neither};
use crate::record::{Cell, Round};
use crate::rtt::backend::Backend;
use crate::rtt::csv;
use crate::rtt::samples::trimmed;
use crate::scenario::raw::{Pacing, Raw, Transport};

/// Options of the plot.
#[derive(Args, Clone, Debug)]
pub struct Plot {
    /// Files with rows framework,transport,test,count,rate,payload,tasks,value,unit
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only rows with messages of this size [default: that of the first row]
    #[arg(long, value_name = "BYTES")]
    size: Option<usize>,
    /// The pacing of rows that do not say theirs, as those of --csv
    #[arg(long, value_enum, default_value = "exact")]
    pacing: Pacing,
    /// Where rtt.html is written
    #[arg(long, value_name = "DIR", default_value = "zonda-rtt")]
    out: PathBuf,
}

/// Reads the files, prints the tables and writes the page.
pub fn plot(plot: &Plot) -> Result<(), Failure> {
    let mut rows = Rows {
        pacing: plot.pacing,
        size: plot.size,
        cells: Vec::new(),
    };
    for file in &plot.files {
        let text = fs::read_to_string(file)
            .map_err(|e| Failure::Run(format!("cannot read {}: {e}", file.display())))?;
        rows.read(file, &text)?;
    }
    if rows.cells.is_empty() {
        let text = "no round trips in these files; --csv of perf rtt writes some";
        return Err(Failure::Run(text.into()));
    }
    try_out(&plot.out)?;
    let names: Vec<String> = plot.files.iter().map(|f| f.display().to_string()).collect();
    let report = Report {
        plan: plan(&rows.cells),
        cells: rows.cells,
        size: rows.size.unwrap_or_default(),
        facts: vec![("files", names.join(", "))],
        legend: format!("From {}.", names.join(", ")),
    };
    print_lines(format_args!("{}", table::tables(&report)));
    write(&plot.out, "rtt.html", &page::page(&report))?;
    print(format_args!("written: rtt.html in {}", plot.out.display()));
    Ok(())
}

/// All values that occur, in the order of the tables.
fn plan(cells: &[Measured]) -> Plan {
    let cases = || cells.iter().map(|m| m.case);
    let known = Backend::ALL.map(Backend::name).into_iter().chain([ECHO]);
    let is_there = |f: &&str| cells.iter().any(|m| m.framework == *f);
    let plan = Plan {
        frameworks: known.filter(is_there).collect(),
        transports: cases().map(|c| c.transport).collect(),
        pacings: cases().map(|c| c.pacing).collect(),
        tasks: cases().map(|c| c.tasks).collect(),
        rates: cases().map(|c| c.rate).collect(),
    };
    plan.in_order()
}

/// The rows read so far.
struct Rows {
    pacing: Pacing,
    size: Option<usize>,
    cells: Vec<Measured>,
}

impl Rows {
    /// Adds the rows of a file. Each run of rows with the same case is a round of it.
    fn read(&mut self, file: &Path, text: &str) -> Result<(), Failure> {
        let mut open: Option<Open> = None;
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line == csv::HEADER {
                continue;
            }
            let row = Row::parse(line, self.pacing).map_err(|why| {
                Failure::Run(format!("{}:{}: {why}: {line}", file.display(), number + 1))
            })?;
            if row.size != *self.size.get_or_insert(row.size) {
                continue;
            }
            if open
                .as_ref()
                .is_some_and(|o| o.key != row.key || o.is_closed)
            {
                self.close(open.take());
            }
            open.get_or_insert_with(|| Open::new(row.key)).add(&row);
        }
        self.close(open);
        Ok(())
    }

    fn close(&mut self, open: Option<Open>) {
        let Some(open) = open else { return };
        let round = open.round();
        if round.nanos_times.is_empty() {
            return;
        }
        let Key { framework, case } = open.key;
        let mut known = self.cells.iter_mut();
        match known.find(|m| (m.framework, m.case) == (framework, case)) {
            Some(measured) => measured.cell.append(round),
            None => {
                let mut cell = Cell::new(framework, case.case());
                cell.append(round);
                self.cells.push(Measured {
                    framework,
                    case,
                    cell,
                });
            }
        }
    }
}

/// What a row says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    /// One round trip.
    Sample,
    /// So many round trips of the same time.
    Times,
    /// The rate of a round.
    Throughput,
    /// The losses of a round, which they end.
    Lost,
}

/// The cell of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
    framework: &'static str,
    case: Raw,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    key: Key,
    size: usize,
    said: Said,
    count: u64,
    value: f64,
}

impl Row {
    fn parse(line: &str, pacing: Pacing) -> Result<Self, String> {
        let columns: Vec<&str> = line.trim().split(',').collect();
        let [name, transport, test, count, rate, payload, tasks, value, _] = columns[..] else {
            return Err(format!(
                "{} columns, expected those of {}",
                columns.len(),
                csv::HEADER
            ));
        };
        let framework = framework(name).ok_or_else(|| format!("unknown framework {name}"))?;
        let transport = match transport {
            "udp" => Transport::Udp,
            "tcp" | "icmp" => Transport::Tcp,
            other => return Err(format!("unknown transport {other}")),
        };
        let (kind, named) = test.split_once('-').unwrap_or((test, ""));
        let said = match (kind, named) {
            ("rtt", "") => Said::Sample,
            ("rtt", _) => Said::Times,
            ("throughput", _) => Said::Throughput,
            ("lost", _) => Said::Lost,
            _ => return Err(format!("unknown test {test}")),
        };
        let pacing = match named {
            "" => pacing,
            "exact" => Pacing::Exact,
            "seed" => Pacing::Seed,
            _ => return Err(format!("unknown test {test}")),
        };
        let case = Raw {
            transport,
            pacing,
            tasks: number(tasks)?,
            rate: rate.parse().map_err(|_| format!("{rate} is no rate"))?,
        };
        Ok(Row {
            key: Key { framework, case },
            size: number(payload)?,
            said,
            count: number(count)?,
            value: number(value)?,
        })
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is no number"))
}

/// A round that is being read.
struct Open {
    key: Key,
    samples: Vec<u64>,
    pairs: Vec<(u64, u64)>,
    achieved: Option<f64>,
    counts: Option<(u64, u64)>,
    is_closed: bool,
}

impl Open {
    fn new(key: Key) -> Self {
        Open {
            key,
            samples: Vec::new(),
            pairs: Vec::new(),
            achieved: None,
            counts: None,
            is_closed: false,
        }
    }

    fn add(&mut self, row: &Row) {
        match row.said {
            Said::Sample => self.samples.push(row.value as u64),
            Said::Times => self.pairs.push((row.value as u64, row.count)),
            Said::Throughput => self.achieved = Some(row.value),
            Said::Lost => {
                self.counts = Some((row.count, row.value as u64));
                self.is_closed = true;
            }
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
    use super::super::summary::summary;
    use super::*;
    use crate::scenario::raw::Rate;

    fn rows(text: &str) -> Result<Rows, Failure> {
        let mut rows = Rows {
            pacing: Pacing::Seed,
            size: None,
            cells: Vec::new(),
        };
        rows.read(Path::new("x.csv"), text)?;
        Ok(rows)
    }

    #[test]
    fn single_rows_lose_their_ends_and_counted_ones_do_not() {
        let mut text = format!("{}\n", csv::HEADER);
        for micros in [900, 900, 10, 20, 30, 900, 900] {
            text += &format!("std,tcp,rtt,1,1000,64,0,{micros}000,ns\n");
        }
        text += "std,tcp,throughput,7,1000,64,0,998.5,1/s\nstd,tcp,lost,7,1000,64,0,0,messages\n";
        text +=
            "smol,udp,rtt-exact,3,inf,64,10,5000,ns\nsmol,udp,lost-exact,4,inf,64,10,1,messages\n";
        text += "smol,udp,rtt-exact,1,inf,128,10,7000,ns\n";
        let rows = rows(&text).expect("rows");
        assert_eq!(rows.cells.len(), 2, "the other size is left out");
        let first = summary(&rows.cells[0].cell).expect("figures");
        assert_eq!((first.sent, first.lost), (7, 0));
        assert!((first.at("p99") - 30.0).abs() < 0.1);
        assert!(first.achieved.is_some_and(|a| a.median == 998.5));
        assert_eq!(rows.cells[0].case.pacing, Pacing::Seed);
        let second = summary(&rows.cells[1].cell).expect("figures");
        assert_eq!((second.sent, second.lost), (4, 1));
        assert_eq!(rows.cells[1].case.to_string(), "udp exact inf/s 10 tasks");
        let plan = plan(&rows.cells);
        assert_eq!(plan.frameworks.len(), 2);
        assert_eq!(plan.rates, [Rate::Hertz(1e3), Rate::Infinite]);
    }

    #[test]
    fn a_repeated_case_is_another_round() {
        let round = "std,tcp,rtt-exact,2,1,64,0,5000,ns\nstd,tcp,lost-exact,2,1,64,0,0,messages\n";
        let rows = rows(&round.repeat(3)).expect("rows");
        assert_eq!(rows.cells.len(), 1);
        assert_eq!(rows.cells[0].cell.nanos_times.len(), 3);
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
            let Err(Failure::Run(text)) = rows(&format!("\n{line}\n")) else {
                panic!("{line} was understood");
            };
            assert!(
                text.starts_with("x.csv:2: ") && text.contains(words),
                "{text}"
            );
        }
    }
}
