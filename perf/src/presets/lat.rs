// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf lat`: the round trip of a message through the whole node, back to back and on a
//! schedule. On a schedule each message is due at a fixed time, and its latency counts from that
//! time: any delay, the sender's included, is measured in full.

use std::fmt;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use zonda::config::RuntimeKind;
use zonda_program::{Failure, seconds};

use super::RecordArgs;
use crate::campaign::{Campaign, Entry, entries, named};
use crate::link::LinkArgs;
use crate::measure::measure;
use crate::numbers::{short, tenths};
use crate::reference::Reference;
use crate::scenario::rates::{Pace, pace};
use crate::scenario::sizes::{Sizes, one_size, sizes};
use crate::scenario::{Scenario, Topologies, Trips};
use crate::system::{BARE, Kind, Own, Span, System};
use crate::table::{NONE, Table, by_role, or_none};
use crate::workers::sequence_check::STAMP;

/// The share of the wanted rate below which a rate is marked.
const REACHED: f64 = 0.98;
/// The payload of one batch, which may be sent ahead of a message of a higher priority.
const BATCH_BITS: f64 = 64.0 * 1024.0 * 8.0;

/// Examples in the help, and the meaning of the table.
const HELP: &str = "\
Examples:
  zonda perf lat                                       every rate, peer to peer and routed, some ten minutes
  zonda perf lat --rates max                           back to back only
  zonda perf lat --rates 1k,10k --profile normal,spin  what a bounded busy poll is worth, and what it costs
  zonda perf lat --runtime tokio,threads --rates max   two runtimes
  zonda perf lat --link tls --rates max                over TLS, beside rustls on a blocking socket
  zonda perf lat --load 10M --rates 1k                 urgent messages beside samples that fill the same link
  zonda perf lat --rounds 10 --json lat.json           more certain, and kept for perf compare and perf plot

How to read it:
  back to back  one message at a time; the next leaves when the answer is there. A stall counts once
  1k/s          message n is due n ms after the start, and its latency counts from there, however many
                are under way or wait to be sent: a stall counts in every message that it holds up
  CPU %         of one processor, of each program, while it was measured: what the latency costs";

/// Options of `perf lat`.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Lat {
    /// Payloads of a message: sizes from 8 on, such as 64,1k,64k
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "64", value_parser = sizes)]
    sizes: Vec<Sizes>,
    /// Messages per second, such as 1,10k,1M, and max for back to back
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = pace)]
    #[arg(default_value = "1,10,100,1k,10k,100k,1M,max")]
    rates: Vec<Pace>,
    #[command(flatten)]
    topologies: Topologies,
    /// Runtimes of the nodes, such as tokio,threads [default: the default one]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    runtime: Vec<RuntimeKind>,
    /// Waiting method of the nodes
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "normal"
    )]
    profile: Vec<Profile>,
    /// In the profile spin, ask the sockets for this long before sleeping, in microseconds
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 120_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    spin_us: u64,
    /// Express messages are sent at once, others share batches
    #[arg(long, value_name = "HOW", default_value = "auto")]
    express: Express,
    /// Measure beside samples of this size too, which saturate the same link at a lower priority
    #[arg(long, value_name = "SIZE", value_parser = one_size)]
    load: Option<usize>,
    /// Measure each cell this often; the tables show the median
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Measure for this long in each round
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    seconds: Duration,
    /// And at slow rates for as long as this many messages take
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    least: u32,
    /// Warm up for this long before
    #[arg(long, value_name = "SECONDS", default_value = "0.3", value_parser = seconds)]
    warm_up: Duration,
    #[command(flatten)]
    linked: LinkArgs,
    #[command(flatten)]
    reference: Reference,
    #[command(flatten)]
    kept: RecordArgs,
    /// Only say what would be measured, and how long it would take
    #[arg(long)]
    list: bool,
}

/// A node's way to wait for messages.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    /// Its threads sleep
    Normal,
    /// They ask the sockets for a while before they sleep
    Spin,
}

/// Messages are sent at once, or share batches.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Express {
    /// Back to back and up to 10 000 messages per second at once, above that in shared batches
    Auto,
    /// Each at once
    Always,
    /// In shared batches
    Never,
}

impl fmt::Display for Express {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Express::Auto => "express up to 10k/s and back to back, above that in shared batches",
            Express::Always => "express",
            Express::Never => "in shared batches",
        })
    }
}

impl Lat {
    /// Measures, prints the tables and writes the record.
    pub fn run(&self) -> Result<(), Failure> {
        let campaign = Campaign {
            tool: "lat",
            settings: self.settings(),
            rounds: self.rounds,
            json: self.kept.json.as_deref(),
            is_list: self.list,
            keeps_samples: true,
            measure: &measure,
        };
        let all = entries("", &self.scenarios()?, &self.systems()?, |s| self.span(s));
        let Some(outcome) = campaign.run(all)? else {
            return Ok(());
        };
        // latencies of all entries
        let columns = self.reference.columns(BARE);
        let latencies = latencies(&outcome.entries, &columns).unwrap_or_default();
        outcome.print(&format!(
            "\n{latencies}\n{}",
            self.legend(&outcome.rounds())
        ));
        // latencies with a load
        if let Some(loads) = loads(&outcome.entries) {
            zonda_program::print_lines(format_args!(
                "\nBeside samples of a lower priority that fill the same link\n\n{loads}\n\
                 bound: the p99 alone and one batch of 64 KiB at the rate of the load."
            ));
        }
        outcome.finish(self.kept.json.as_deref())
    }

    /// Returns the scenarios to measure.
    fn scenarios(&self) -> Result<Vec<Scenario>, Failure> {
        let sizes = Sizes::all(&self.sizes);
        if let Some(size) = sizes.iter().find(|s| **s < STAMP) {
            let text =
                format!("--sizes {size}: a message holds its number, which takes {STAMP} bytes");
            return Err(Failure::Usage(text));
        }
        let load = self.load;
        // each pace alone, and with the load
        let mut all = Vec::new();
        for topology in self.topologies.each() {
            for &size in &sizes {
                for &pace in &self.rates {
                    let usual = Trips::new(topology, size, pace);
                    let express = match self.express {
                        Express::Always => true,
                        Express::Never => false,
                        Express::Auto => usual.express,
                    };
                    let alone = Trips { express, ..usual };
                    all.push(Scenario::Trips(alone));
                    all.extend(load.map(|_| Scenario::Trips(Trips { load, ..alone })));
                }
            }
        }
        Ok(all)
    }

    /// Returns the duration of one scenario; a slow rate needs more.
    fn span(&self, scenario: &Scenario) -> Span {
        let rate = scenario.trips().and_then(|trips| trips.pace.hertz());
        let least = rate.map_or(0.0, |rate| f64::from(self.least) / rate);
        Span::new(
            self.warm_up.as_secs_f64(),
            self.seconds.as_secs_f64().max(least),
        )
    }

    /// Returns every runtime in every profile, and the yardsticks.
    fn systems(&self) -> Result<Vec<System>, Failure> {
        // names include the runtime only where it varies
        let runtimes: Vec<Option<RuntimeKind>> = match self.runtime.is_empty() {
            true => vec![None],
            false => self.runtime.iter().copied().map(Some).collect(),
        };
        let mut all = Vec::new();
        for runtime in &runtimes {
            for profile in &self.profile {
                let mut name = "zonda".to_owned();
                if let (Some(kind), 2..) = (runtime, runtimes.len()) {
                    name += &format!(" {kind}");
                }
                let spins = *profile == Profile::Spin;
                if spins {
                    name += " spin";
                }
                let own = Own {
                    runtime: runtime.map(|kind| kind.name().to_owned()),
                    spin_us: spins.then_some(self.spin_us),
                    ..Own::default()
                };
                all.push(System::new(name, Kind::Zonda(own)));
            }
        }
        all.extend(System::yardsticks(self.reference.programs()?));
        Ok(self.linked.put(all))
    }

    /// Returns the settings that the figures depend on, in addition to those in the cells.
    fn settings(&self) -> Map<String, Value> {
        let runtimes: Vec<&str> = self.runtime.iter().map(|kind| kind.name()).collect();
        let express = self.express.to_possible_value();
        let mut settings = named([
            ("rounds", json!(self.rounds)),
            ("seconds", json!(self.seconds.as_secs_f64())),
            ("warm_up", json!(self.warm_up.as_secs_f64())),
            ("least", json!(self.least)),
            ("express", json!(express.map(|v| v.get_name().to_owned()))),
            ("runtime", json!(runtimes)),
        ]);
        if self.profile.contains(&Profile::Spin) {
            settings.insert("spin_us".into(), json!(self.spin_us));
        }
        settings
    }

    fn legend(&self, rounds: &str) -> String {
        format!(
            "{rounds} of {} s or {} messages, fresh programs in each. On a schedule, latency is from when a \
             message was due to when its answer came, so that no delay hides another; in brackets, the share of the wanted \
             rate where it was not reached. CPU: sender / router / receiver; % of one processor. p50 / x: in multiples of \
             x. Messages are sent {}.",
            self.seconds.as_secs_f64(),
            self.least,
            self.express,
        )
    }
}

/// Returns the table of all entries, each compared with the systems `references`.
fn latencies(entries: &[Entry], references: &[&str]) -> Option<String> {
    Table::default()
        .title("case", Entry::title)
        .system("system")
        .column("msg/s", |entry| or_none(rate(entry)))
        .median("p50 µs", "p50", tenths)
        .ends("p50", |s| format!("{:.1}..{:.1}", s.min, s.max))
        .upper()
        .column("CPU %", |entry| {
            by_role(&entry.cell, "cpu_percent", |s| format!("{:.0}", s.median))
        })
        .minor()
        .cpu()
        .column("faults", faults)
        .beside(
            entries,
            references,
            |r| format!("p50 / {r}"),
            |own, other| Some(own.median("p50")? / other.median("p50")?),
        )
        .of(entries)
}

/// Formats the achieved rate, with its share of the wanted one if it is lower.
fn rate(entry: &Entry) -> Option<String> {
    let rate = entry.cell.median("rate")?;
    Some(match entry.scenario.trips()?.pace.hertz() {
        Some(wanted) if rate < wanted * REACHED => {
            format!("{} ({:.0}%)", short(rate), 100.0 * rate / wanted)
        }
        _ => short(rate),
    })
}

/// Formats the messages of all rounds that were lost, duplicated, or out of order.
fn faults(entry: &Entry) -> String {
    match ["lost", "duplicated", "reordered"].map(|name| entry.cell.sum(name) as u64) {
        _ if entry.cell.metrics.is_empty() => NONE.into(),
        [0, 0, 0] => "0".into(),
        [lost, twice, late] => format!("{lost} lost, {twice} dup, {late} order"),
    }
}

/// Latency with a load on the same link, in microseconds.
struct LoadedLatency {
    /// The p99 without the load.
    alone: f64,
    /// The p99 with it.
    loaded: f64,
    /// Bits per second of the load.
    rate: f64,
}

impl LoadedLatency {
    /// Compares an entry with a load with the same one without it.
    fn of(entries: &[Entry], entry: &Entry) -> Option<LoadedLatency> {
        let trips = entry
            .scenario
            .trips()
            .filter(|trips| trips.load.is_some())?;
        let scenario = Scenario::Trips(Trips {
            load: None,
            ..*trips
        });
        let mut others = entries.iter();
        let alone = others.find(|e| e.system == entry.system && e.scenario == scenario)?;
        Some(LoadedLatency {
            alone: alone.cell.median("p99")?,
            loaded: entry.cell.median("p99")?,
            rate: entry.cell.median("load").filter(|rate| *rate > 0.0)?,
        })
    }

    /// Returns the time of one batch on the link at the rate of the load.
    fn batch(&self) -> f64 {
        BATCH_BITS / self.rate * 1e6
    }

    /// Returns the bound of the p99: its value without the load, plus one batch that may be sent
    /// ahead.
    fn bound(&self) -> f64 {
        self.alone + self.batch()
    }

    fn kept(&self) -> String {
        match self.loaded <= self.bound() {
            true => "yes".to_owned(),
            false => format!("no, {:.1} times", self.loaded / self.bound()),
        }
    }
}

/// Returns the table with a row for each entry with a load; `None` if there is none.
fn loads(entries: &[Entry]) -> Option<String> {
    let column = |text: fn(&LoadedLatency) -> String| {
        move |entry: &Entry| or_none(LoadedLatency::of(entries, entry).map(|beside| text(&beside)))
    };
    Table::default()
        .title("case", Entry::title)
        .system("system")
        .column("load Gb/s", column(|b| format!("{:.2}", b.rate / 1e9)))
        .column("p99 alone µs", column(|b| tenths(b.alone)))
        .column("one batch", column(|b| tenths(b.batch())))
        .column("bound", column(|b| tenths(b.bound())))
        .column("p99 beside", column(|b| tenths(b.loaded)))
        .column("kept", column(LoadedLatency::kept))
        .of(entries
            .iter()
            .filter(|e| LoadedLatency::of(entries, e).is_some()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::record::Better::Lower;
    use crate::table::tests::rows;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        lat: Lat,
    }

    fn all(line: &str) -> Vec<Entry> {
        let words = ["lat"].into_iter().chain(line.split_whitespace());
        let lat = Line::try_parse_from(words).expect("flags").lat;
        let (scenarios, systems) = (lat.scenarios(), lat.systems());
        let scenarios = scenarios.expect("scenarios");
        entries("", &scenarios, &systems.expect("systems"), |s| lat.span(s))
    }

    fn fill(entry: &mut Entry, figures: &[(&str, &[f64])]) {
        for (name, rounds) in figures {
            for figure in *rounds {
                entry.cell.add(name, "", Lower, *figure);
            }
        }
    }

    #[test]
    fn each_system_is_in_each_case_but_bare_sockets_in_no_load() {
        let all = all("--rates 10k,max --load 10M");
        let names: Vec<String> = all.iter().map(Entry::to_string).collect();
        let expected = [
            "p2p 64B 10k/s zonda",
            "p2p 64B 10k/s bare sockets",
            "p2p 64B beside 10MiB 10k/s zonda",
            "p2p 64B back to back zonda",
            "p2p 64B back to back bare sockets",
            "p2p 64B back to back beside 10MiB zonda",
        ];
        assert_eq!(names.len(), 12);
        assert_eq!(names[..6], expected);
        let (open, closed) = (&all[0].cell, &all[3].cell);
        assert_eq!(open.to_string(), "zonda p2p 64B rate 10000 msg/s");
        assert_eq!(closed.to_string(), "zonda p2p 64B back to back");
    }

    #[test]
    fn systems_stand_beside_each_other() {
        let mut all = all("--rates 1k --topology p2p");
        let ours: [(&str, &[f64]); 6] = [
            ("p50", &[20.0, 30.0, 25.0]),
            ("rate", &[999.0, 800.0, 700.0]),
            ("cpu_sender", &[1000.0]),
            ("cpu_receiver", &[20_000.0]),
            ("cpu_percent_sender", &[12.4]),
            ("lost", &[0.0, 2.0]),
        ];
        fill(&mut all[0], &ours);
        fill(&mut all[1], &[("p50", &[10.0]), ("rate", &[1000.0])]);
        let text = latencies(&all, &["bare sockets", "zenoh"]).expect("rows");
        let expected = [
            "p2p 64B 1k/s|zonda|800 (80%)|25.0|20.0..30.0|-|-|-|-|12|1 µs / 20 µs|2 lost, 0 dup, 0 order|2.50|-",
            "|bare sockets|1.00k|10.0|10.0..10.0|-|-|-|-|-|-|0|-|-",
        ];
        assert_eq!(
            rows(&text),
            expected.map(|row| row.split('|').collect::<Vec<_>>())
        );
    }

    #[test]
    fn a_load_is_held_against_its_bound() {
        let mut all = all("--rates 1k --topology p2p --load 10M");
        fill(&mut all[0], &[("p99", &[100.0])]);
        assert_eq!(loads(&all), None);
        // 64 KiB at 5.24288 Gb/s take 100 us
        fill(&mut all[2], &[("p99", &[199.0]), ("load", &[5.242_88e9])]);
        let text = loads(&all).expect("a row");
        let expected = ["5.24", "100.0", "100.0", "200.0", "199.0", "yes"];
        assert_eq!(rows(&text)[0][2..], expected);
        fill(&mut all[2], &[("p99", &[601.0])]);
        assert!(loads(&all).is_some_and(|text| text.contains("no, 2.0 times")));
    }
}
