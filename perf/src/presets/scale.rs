// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf scale`: the cost of great numbers for a router, of connected clients and of declared
//! subscriptions. The router is a separate process; the clients run in this one.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use zonda::config::RuntimeKind;
use zonda_program::{Failure, seconds};

use super::RecordArgs;
use crate::campaign::{Campaign, Entry, entries, named};
use crate::link::LinkArgs;
use crate::measure::{measure, subscription};
use crate::record::Spread;
use crate::reference::directory;
use crate::scenario::{Numbers, Scenario, distinct};
use crate::system::{Span, System, ZONDA};
use crate::table::{or_none, spread};

/// The default numbers.
const CONNECTIONS: u32 = 1000;
const SUBSCRIPTIONS: u32 = 1_000_000;

/// The figures of each case in their order, with their names in the record.
const ROWS: [(&str, &str, &str); 15] = [
    ("connections", "cpu_idle", "CPU, idle"),
    ("connections", "memory_each", "memory of each"),
    ("connections", "cpu_connect_each", "CPU to connect one"),
    ("connections", "threads", "threads"),
    ("subscriptions", "declare_cpu", "CPU to declare all"),
    ("subscriptions", "declare_time", "time to declare all"),
    ("subscriptions", "memory_each", "memory of each"),
    (
        "subscriptions",
        "route_cpu_one",
        "CPU of a routed message, with one",
    ),
    (
        "subscriptions",
        "route_cpu_many",
        "CPU of a routed message, with all",
    ),
    ("subscriptions", "wildcard_time", "wildcard over all, time"),
    ("subscriptions", "wildcard_cpu", "wildcard over all, CPU"),
    ("subscriptions", "leave_cpu", "CPU when all leave"),
    (
        "subscriptions",
        "wait_usual",
        "longest wait of others, usual",
    ),
    (
        "subscriptions",
        "wait_leaving",
        "longest wait of others, leaving",
    ),
    ("subscriptions", "memory_after", "memory when all have left"),
];

/// Examples in the help, and the meaning of the figures.
const HELP: &str = "\
Examples:
  zonda perf scale                                      both, with the default numbers, about a minute
  zonda perf scale --connections 5000                   idle clients only
  zonda perf scale --subscriptions 100000 --sessions 1  subscriptions only, all of one session

How to read it:
  connections    clients that are connected and say nothing. Memory is resident memory of the router after
                 minus before, for each of them; CPU is that of the router, in percent of one processor
  subscriptions  keys as plant/7/line/12/sensor/34, all distinct. A routed message is 8 bytes on a declared
                 key with one subscriber, on a router with nothing else and on the one with all of them, in turns
  wildcard       from the declaration of a subscriber of plant/** until it gets its first message
  leave          all sessions say goodbye at once; others exchange a message each millisecond meanwhile,
                 and the figure is the longest time that one of these was under way";

/// Options of `perf scale`.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Scale {
    /// Measure this many idle clients [default, without --subscriptions: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50_000))]
    connections: Option<u32>,
    /// Measure this many distinct subscriptions [default, without --connections: 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    subscriptions: Option<u32>,
    /// Client sessions that share the subscriptions among them
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    sessions: u32,
    /// Measure each round this often; the table shows the median and the range
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Watch idle clients, and messages, for this long in each round
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    seconds: Duration,
    /// Runtime of the router measured
    #[arg(long, value_name = "NAME")]
    runtime: Option<RuntimeKind>,
    /// Measure the reference's router too, in the same rounds: a directory with its zenohd
    #[arg(long, value_name = "DIR")]
    with_zenoh: Option<PathBuf>,
    #[command(flatten)]
    linked: LinkArgs,
    #[command(flatten)]
    kept: RecordArgs,
}

impl Scale {
    /// Measures, prints the table and writes the record.
    pub fn run(&self) -> Result<(), Failure> {
        let (scenarios, systems) = (self.scenarios()?, self.systems()?);
        let runtime = self.runtime.map_or("default", RuntimeKind::name);
        let seconds = self.seconds.as_secs_f64();
        let settings = named([
            ("rounds", json!(self.rounds)),
            ("seconds", json!(seconds)),
            ("sessions", json!(self.sessions)),
            ("runtime", json!(runtime)),
        ]);
        // measure
        let campaign = Campaign {
            tool: "scale",
            settings,
            rounds: self.rounds,
            json: self.kept.json.as_deref(),
            is_list: false,
            keeps_samples: false,
            measure: &measure,
        };
        let span = Span::new(0.0, seconds);
        let all = entries("", &scenarios, &systems, |_| span);
        let Some(outcome) = campaign.run(all)? else {
            return Ok(());
        };
        // table and record
        outcome.print(&format!("{}\n{}", table(&outcome.entries), self.legend()));
        outcome.finish(self.kept.json.as_deref())
    }

    fn scenarios(&self) -> Result<Vec<Scenario>, Failure> {
        let count = self.subscriptions.unwrap_or(SUBSCRIPTIONS);
        let connections = Numbers::Connections(self.connections.unwrap_or(CONNECTIONS));
        let subscriptions = Numbers::Subscriptions(count, self.sessions);
        if self.sessions > count {
            return Err(Failure::Usage(format!(
                "--sessions {} is more than --subscriptions {count}: each session declares at least one",
                self.sessions
            )));
        }
        let asked = match (self.connections, self.subscriptions) {
            (Some(_), None) => vec![connections],
            (None, Some(_)) => vec![subscriptions],
            _ => vec![connections, subscriptions],
        };
        Ok(asked.into_iter().map(Scenario::Numbers).collect())
    }

    fn systems(&self) -> Result<Vec<System>, Failure> {
        let mut systems = vec![System::own(ZONDA, self.runtime.map(RuntimeKind::name))];
        let zenoh = directory("--with-zenoh", self.with_zenoh.as_deref(), &["zenohd"])?;
        systems.extend(System::zenoh(zenoh));
        Ok(self.linked.put(systems))
    }

    fn legend(&self) -> String {
        let rounds = match self.rounds {
            1 => "one round".to_owned(),
            n => format!("median (range) of {n} rounds"),
        };
        format!(
            "{rounds}. All figures are the router's: its CPU time, its resident memory. Keys as {}. See --help.",
            subscription(7, 1234),
        )
    }
}

/// Returns the table with a row for each figure and a column for each system.
fn table(entries: &[Entry]) -> String {
    let systems = distinct(entries.iter().map(|entry| entry.cell.system.as_str()));
    let mut header = vec!["of".to_owned(), "what".to_owned(), "unit".to_owned()];
    header.extend(systems.iter().map(|&system| system.to_owned()));
    header.extend(systems.iter().skip(1).map(|system| format!("x {system}")));
    let mut rows = Vec::new();
    let mut last = "";
    for (case, metric, what) in ROWS {
        // rows without figures are left out
        let of_case: Vec<&Entry> = entries.iter().filter(|e| e.cell.case == case).collect();
        let mut metrics = of_case.iter().filter_map(|e| e.cell.metrics.get(metric));
        let Some(unit) = metrics.next().map(|metric| metric.unit.clone()) else {
            continue;
        };
        let of = |system: &&str| -> Option<Spread> {
            let found = of_case.iter().find(|e| e.cell.system == **system);
            found?.cell.spread(metric)
        };
        // the figure of each system
        let spreads: Vec<Option<Spread>> = systems.iter().map(of).collect();
        let title = of_case.first().map(|entry| entry.scenario.to_string());
        let title = title.filter(|_| last != case).unwrap_or_default();
        last = case;
        // the row: figures, then multiples of this project's
        let mut row = vec![title, what.to_owned(), unit];
        row.extend(
            spreads
                .iter()
                .map(|s| or_none(s.map(|s| spread(s, figure)))),
        );
        let own = spreads
            .first()
            .copied()
            .flatten()
            .filter(|s| s.median > 0.0);
        row.extend(spreads.iter().skip(1).map(|other| {
            let both = own.zip(*other);
            or_none(both.map(|(own, other)| format!("{:.2}", other.median / own.median)))
        }));
        rows.push(row);
    }
    zonda_program::table(header, rows, 3..)
}

/// Formats a figure with three significant digits.
fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Better::Lower;
    use crate::table::tests::rows;

    #[test]
    fn systems_stand_beside_each_other() {
        let systems = [
            System::own(ZONDA, None),
            System::zenoh(Some("/ref".as_ref())).expect("a directory"),
        ];
        let scenario = Scenario::Numbers(Numbers::Connections(1000));
        let span = Span::new(0.0, 1.0);
        let mut all = entries("", &[scenario], &systems, |_| span);
        for (entry, figures) in all.iter_mut().zip([&[20.0, 30.0, 10.0][..], &[200.0]]) {
            for figure in figures {
                entry.cell.add("memory_each", "KiB", Lower, *figure);
            }
        }
        let text = table(&all);
        let rows = rows(&text);
        assert_eq!(rows.len(), 1, "rows without figures are left out: {text}");
        let expected = [
            "1000 connections",
            "memory of each",
            "KiB",
            "20.0 (10.0..30.0)",
            "200",
            "10.00",
        ];
        assert_eq!(rows[0], expected);
    }
}
