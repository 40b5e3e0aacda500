// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf curves`: throughput over the size of messages and latency over their rate, peer to
//! peer and routed, each by a session and by the node below it, compared with bare sockets and the
//! reference. The measurements are those of `perf thr` and `perf lat`, shown as curves.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use zonda::config::RuntimeKind;
use zonda_program::{Failure, print, seconds};

use super::flow;
use crate::campaign::{Campaign, Entry, entries, settings};
use crate::link::LinkArgs;
use crate::measure::measure;
use crate::numbers::{Unit, short};
use crate::page;
use crate::rank::p_value;
use crate::record::{Cell, Spread, X};
use crate::reference::Reference;
use crate::scenario::rates::{Pace, pace};
use crate::scenario::sizes::{Sizes, sizes};
use crate::scenario::{Scenario, Topologies, Trips, distinct};
use crate::system::{NODE, Span, System, ZONDA};
use crate::table::{NONE, or_none};

/// The meaning of the figures.
const LEGEND: &str = "Medians. Throughput in messages per second; latency in microseconds, p50 / p99 of the round \
                      trip. session: what the session adds to the node's CPU time per message, of sender and \
                      receiver together; in brackets where it may be chance (rank test over the rounds, 5 %).";
/// The significance level: a difference with a larger p-value is in brackets.
const CHANCE: f64 = 0.05;

/// Examples in the help, and the output.
const HELP: &str = "\
Examples:
  zonda perf curves --quick                              some points of each curve, about three minutes
  zonda perf curves --with-zenoh peers/zenoh/target/release    all of it; says first how long it takes
  zonda perf curves --rates max --sizes 8..1M --topology p2p   throughput and back to back, no router

What comes out: curves.json, for perf compare and perf plot, and curves.html, a page that needs no other file.
  zonda         by a session, as applications are
  node          by the node's own calls below the session; the difference is what the session costs
  bare sockets  blocking sockets with the least framing
  zenoh         the reference";

/// The size of the messages of round trips, in bytes.
const TRIP_BYTES: usize = 64;
/// The number of messages for which a slow rate is measured.
const LEAST: f64 = 10.0;
/// The number of messages with `--quick`.
const LEAST_QUICK: f64 = 5.0;

/// Options of `perf curves`.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Curves {
    /// Some points of each curve, in two short rounds
    #[arg(long)]
    pub quick: bool,
    /// Payloads of the throughput [default: 8..1G, every power of 8; 8,1k,64k,1M with --quick]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = sizes)]
    pub sizes: Vec<Sizes>,
    /// Messages per second of the latency, max for back to back [default: 1,10,100,1k,10k,100k,1M,max;
    /// 10,1k,100k,max with --quick]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = pace)]
    pub rates: Vec<Pace>,
    #[command(flatten)]
    pub topologies: Topologies,
    /// Measure every point this often [default: 5; 2 with --quick]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Measure each point for this long in each round [default: 1; 0.5 with --quick]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub seconds: Option<Duration>,
    /// Runtime of the nodes measured
    #[arg(long, value_name = "NAME")]
    pub runtime: Option<RuntimeKind>,
    #[command(flatten)]
    pub linked: LinkArgs,
    #[command(flatten)]
    pub reference: Reference,
    /// Folder for curves.json and curves.html
    #[arg(long, value_name = "DIR", default_value = "zonda-curves")]
    pub out: PathBuf,
    /// Only say what would be measured, and how long it would take
    #[arg(long)]
    pub list: bool,
}

impl Curves {
    /// Measures, prints the table and writes the record and the page.
    pub fn run(&self) -> Result<(), Failure> {
        let all = self.entries()?;
        let (json, html) = (self.out.join("curves.json"), self.out.join("curves.html"));
        // an unwritable page fails here
        if !self.list {
            page::reserve(&html)?;
        }
        let runtime = self.runtime.unwrap_or_default().name().into();
        let campaign = Campaign {
            tool: "curves",
            settings: settings(self.rounds(), self.span(), runtime),
            rounds: self.rounds(),
            json: Some(&json),
            is_list: self.list,
            keeps_samples: false,
            measure: &measure,
        };
        // measure
        let Some(outcome) = campaign.run(all)? else {
            return Ok(());
        };
        // table, record and page
        outcome.print(&format!("{}\n{LEGEND}", table(&outcome.entries)));
        outcome.record.write(&json)?;
        page::write(&outcome.record, &html)?;
        let (file, page) = (json.display(), html.display());
        print(format_args!("written: {file} and {page}"));
        outcome.finish(None)
    }

    /// Returns the number of rounds.
    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    fn span(&self) -> Span {
        let usual = Duration::from_millis(if self.quick { 500 } else { 1000 });
        let seconds = self.seconds.unwrap_or(usual).as_secs_f64();
        Span::new(seconds / 2.0, seconds)
    }

    /// Returns the duration of a latency measurement at a rate.
    fn span_at(&self, scenario: &Scenario) -> Span {
        let Span {
            warm_up, seconds, ..
        } = self.span();
        let least = if self.quick { LEAST_QUICK } else { LEAST };
        let rate = scenario.trips().and_then(|trips| trips.pace.hertz());
        let least = rate.map_or(0.0, |rate| least / rate);
        Span::new(warm_up, seconds.max(least))
    }

    fn sizes(&self) -> Vec<usize> {
        match (self.sizes.is_empty(), self.quick) {
            (false, _) => Sizes::all(&self.sizes),
            (true, true) => vec![8, 1 << 10, 64 << 10, 1 << 20],
            (true, false) => (1..=10).map(|power| 1 << (3 * power)).collect(),
        }
    }

    fn rates(&self) -> Vec<Pace> {
        let usual: &[f64] = match self.quick {
            true => &[1e1, 1e3, 1e5],
            false => &[1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6],
        };
        match self.rates.is_empty() {
            true => {
                let usual = usual.iter().map(|rate| Pace::Rate(*rate));
                usual.chain([Pace::BackToBack]).collect()
            }
            false => self.rates.clone(),
        }
    }

    /// Returns every point of every curve.
    fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let runtime = self.runtime.map(|kind| kind.name());
        let mut systems = vec![System::own(ZONDA, runtime), System::node(runtime)];
        systems.extend(System::yardsticks(self.reference.programs()?));
        let systems = self.linked.put(systems);
        // flows by size, trips by rate
        let (mut flows, mut trips) = (Vec::new(), Vec::new());
        for topology in self.topologies.each() {
            flows.extend(self.sizes().into_iter().map(|size| flow(topology, size)));
            let trip = |pace| Scenario::Trips(Trips::new(topology, TRIP_BYTES, pace));
            trips.extend(self.rates().into_iter().map(trip));
        }
        let mut all = entries("throughput ", &flows, &systems, |_| self.span());
        all.extend(entries("latency ", &trips, &systems, |s| self.span_at(s)));
        Ok(all)
    }
}

/// Returns the table with a row for each point and a column for each system.
fn table(entries: &[Entry]) -> String {
    let systems = distinct(entries.iter().map(|e| e.cell.system.as_str()));
    let mut rows: Vec<&Entry> = Vec::new();
    for entry in entries {
        if !rows.iter().any(|row| row.is_beside(entry)) {
            rows.push(entry);
        }
    }
    let head = ["case", "at"].into_iter().chain(systems.iter().copied());
    // the figures of a point by system, then the session's share
    let lines = rows.into_iter().map(|row| {
        let of = |system: &str| {
            let mut beside = entries.iter().filter(|e| e.is_beside(row));
            beside.find(|e| e.cell.system == system).map(|e| &e.cell)
        };
        let x = row.cell.x.as_ref().map(place).unwrap_or_default();
        let mut line = vec![row.cell.case.clone(), x];
        let figures = systems
            .iter()
            .map(|system| or_none(of(system).and_then(figure)));
        line.extend(figures);
        let price = of(ZONDA)
            .zip(of(NODE))
            .map(|(with, without)| price(with, without));
        line.push(or_none(price));
        line
    });
    zonda_program::table(head.chain(["session"]), lines, 1..)
}

fn place(x: &X) -> String {
    match Unit::named(&x.unit) {
        Unit::Count => format!("{} {}", Unit::Count.label(x.value), x.unit),
        unit => unit.label(x.value),
    }
}

fn figure(cell: &Cell) -> Option<String> {
    match (cell.median("p50"), cell.median("p99")) {
        (Some(p50), Some(p99)) => Some(format!("{p50:.1} / {p99:.1}")),
        _ => cell.median("rate").map(short),
    }
}

/// Formats the CPU time that the session adds, in nanoseconds.
fn price(session: &Cell, node: &Cell) -> String {
    let (session, node) = (cpu(session), cpu(node));
    let median = |rounds: &[f64]| Some(Spread::of(rounds.iter().copied())?.median);
    let (Some(with), Some(without)) = (median(&session), median(&node)) else {
        return NONE.into();
    };
    let difference = with - without;
    let sign = if difference < 0.0 { '-' } else { '+' };
    let more = format!("{sign}{}", Unit::Nanos.label(difference.abs()));
    match p_value(&session, &node) < CHANCE {
        true => more,
        false => format!("({more})"),
    }
}

/// Returns the CPU time per message of both ends together, by rounds.
fn cpu(cell: &Cell) -> Vec<f64> {
    let both = cell
        .rounds("cpu_sender")
        .iter()
        .zip(cell.rounds("cpu_receiver"));
    both.map(|(a, b)| a + b).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::campaign::turns;
    use crate::record::Better;
    use crate::table::tests::rows;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        curves: Curves,
    }

    fn all(line: &str) -> Vec<Entry> {
        let words = ["curves"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).expect("flags");
        line.curves.entries().expect("a plan")
    }

    #[test]
    fn the_whole_set_has_the_ends_of_the_published_curves() {
        let names: Vec<String> = all("").iter().map(Entry::to_string).collect();
        // 10 sizes and 8 rates, two topologies, three systems
        assert_eq!(names.len(), (10 + 8) * 2 * 3);
        for name in [
            "throughput p2p 8B zonda",
            "throughput routed 1GiB node",
            "latency p2p 64B 1/s bare sockets",
            "latency routed 64B 1M/s node",
            "latency p2p 64B back to back zonda",
        ] {
            assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
        }
        let quick = all("--quick");
        let seconds = quick.iter().map(|e| e.span.seconds + e.span.warm_up + 0.5);
        assert!(seconds.sum::<f64>() * 2.0 < 200.0);
    }

    #[test]
    fn slow_rates_take_their_time_and_systems_take_turns() {
        let all = all("--sizes 8 --rates 1,max --topology p2p --seconds 0.1");
        let seconds: Vec<f64> = all.iter().map(|e| e.span.seconds).collect();
        assert_eq!(all.len(), 9);
        assert!(seconds[3] >= 10.0 && seconds[6] < 1.0, "{seconds:?}");
        let order = |round| turns(&all, round, Entry::is_beside);
        assert_eq!(order(0), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(order(1), [1, 2, 0, 4, 5, 3, 7, 8, 6]);
        let cell = &all[4].cell;
        assert_eq!(
            (cell.system.as_str(), cell.case.as_str()),
            ("node", "latency p2p 64B")
        );
    }

    #[test]
    fn systems_stand_beside_each_other() {
        let mut all = all("--sizes 8 --rates max --topology p2p");
        for (entry, rate, rounds) in [
            (0, 2e7, [30.0, 28.0, 29.0, 29.5]),
            (1, 2.5e7, [24.0, 23.0, 23.5, 23.6]),
        ] {
            for cpu in rounds {
                let cell = &mut all[entry].cell;
                cell.add("rate", "msg/s", Better::Higher, rate);
                cell.add("cpu_sender", "ns/msg", Better::Lower, cpu);
                cell.add("cpu_receiver", "ns/msg", Better::Lower, cpu);
            }
        }
        all[5].cell.add("p50", "us", Better::Lower, 20.0);
        all[5].cell.add("p99", "us", Better::Lower, 30.0);
        let text = table(&all);
        let lines = rows(&text);
        let first = ["throughput p2p", "8 B", "20.0M", "25.0M", "-", "+11.4 ns"];
        assert_eq!(lines[0], first, "{text}");
        let second = [
            "latency p2p 64B back to back",
            "",
            "-",
            "-",
            "20.0 / 30.0",
            "-",
        ];
        assert_eq!(lines[1], second, "{text}");
        let (mut session, node) = (all[0].cell.clone(), &all[1].cell);
        for end in ["cpu_sender", "cpu_receiver"] {
            session.add(end, "ns/msg", Better::Lower, 20.0);
        }
        assert_eq!(price(&session, node), "(+10.9 ns)");
    }
}
