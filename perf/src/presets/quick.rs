// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf quick`: ten cases in about a minute.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use zonda_program::{Failure, seconds};

use super::{Kept, flow};
use crate::campaign::{Campaign, Entry, entries, settings};
use crate::link::Linked;
use crate::measure::measure;
use crate::numbers::{short, tenths};
use crate::reference::Reference;
use crate::scenario::rates::Pace;
use crate::scenario::{Receiving, Scenario, Topology, Trips, bytes};
use crate::system::{Kind, Span, System, ZONDA};
use crate::table::{Table, range, times_better};

/// Payload sizes of the throughput cases in bytes.
pub const THROUGHPUT_SIZES: [usize; 4] = [8, 1024, 64 * 1024, 1024 * 1024];
/// Payload of the round trips in bytes, as in the studies.
pub const ROUND_TRIP_SIZE: usize = 64;
/// Bare sockets, as this table names them.
pub const BARE: &str = "bare";

/// Options of `perf quick`.
#[derive(Args, Clone, Debug)]
pub struct Quick {
    /// Measure each cell this often; the table shows the median
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure for this long in each round
    #[arg(long, value_name = "SECONDS", default_value = "0.7", value_parser = seconds)]
    seconds: Duration,
    /// Only cells whose name has all of these words, such as "routed 8B" or "ping zonda" (repeatable)
    #[arg(long, value_name = "WORDS")]
    only: Vec<String>,
    /// Runtime of the nodes measured
    #[arg(long, value_name = "NAME")]
    runtime: Option<String>,
    #[command(flatten)]
    linked: Linked,
    #[command(flatten)]
    reference: Reference,
    #[command(flatten)]
    kept: Kept,
}

impl Quick {
    fn systems(&self) -> Result<Vec<System>, Failure> {
        let mut systems = vec![System::own(ZONDA, self.runtime.as_deref())];
        systems.push(System::new(BARE, Kind::Bare));
        systems.extend(System::zenoh(self.reference.examples()?));
        Ok(self.linked.put(systems))
    }

    /// Measures, prints the table and writes the record.
    pub fn run(&self) -> Result<(), Failure> {
        let (systems, span) = (self.systems()?, Span::after_half(self.seconds));
        let mut all = throughput(&systems, span);
        let trips = [Topology::PeerToPeer, Topology::Routed].map(|topology| {
            Scenario::Trips(Trips {
                receiving: Some(Receiving::Queue),
                ..Trips::new(topology, ROUND_TRIP_SIZE, Pace::BackToBack)
            })
        });
        all.extend(entries("ping ", &trips, &systems, |_| span));
        all.retain(|entry| entry.is_wanted(&self.only));
        if all.is_empty() {
            let only = &self.only;
            let text = format!("--only {only:?}: no such cell, try \"8B\" or \"ping routed\"");
            return Err(Failure::Usage(text));
        }
        let runtime = json!(self.runtime.as_deref().unwrap_or("default"));
        let campaign = Campaign {
            tool: "quick",
            settings: settings(self.rounds, span, runtime),
            rounds: self.rounds,
            json: self.kept.json.as_deref(),
            is_list: false,
            keeps_samples: true,
            measure: &measure,
        };
        let Some(outcome) = campaign.run(all)? else {
            return Ok(());
        };
        let table = table(&outcome.entries, &self.reference.columns(BARE)).unwrap_or_default();
        outcome.print(&format!("{table}\n{}", self.legend()));
        outcome.finish(self.kept.json.as_deref())
    }

    fn legend(&self) -> String {
        let rounds = match self.rounds {
            1 => "one round".to_owned(),
            n => format!("median of {n} rounds"),
        };
        format!(
            "{rounds} of {} s each. CPU ns/msg: sender / router / receiver. x: times better (throughput, or p50). \
             bare: blocking sockets with the least framing.",
            self.seconds.as_secs_f64()
        )
    }
}

/// Throughput of every size, peer to peer and routed.
pub fn throughput(systems: &[System], span: Span) -> Vec<Entry> {
    let flows = |topology| THROUGHPUT_SIZES.map(|size| flow(topology, size));
    let flows = [flows(Topology::PeerToPeer), flows(Topology::Routed)].concat();
    entries("throughput ", &flows, systems, |_| span)
}

fn title(entry: &Entry) -> String {
    let scenario = &entry.scenario;
    let what = scenario.trips().map_or("", |_| "ping ");
    format!("{what}{} {}", bytes(scenario.size()), scenario.topology())
}

fn table(entries: &[Entry], references: &[&str]) -> Option<String> {
    Table::default()
        .title("case", title)
        .system("system")
        .median("msg/s", "rate", short)
        .ends("rate", range)
        .gigabits()
        .cpu()
        .median("p50 µs", "p50", tenths)
        .upper()
        .beside(entries, references, |r| format!("x {r}"), times_better)
        .of(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Better;
    use crate::table::tests::rows;

    #[test]
    fn rows_stand_beside_each_other() {
        let span = Span::after_half(Duration::from_secs(1));
        let mut systems = vec![System::own(ZONDA, None), System::new(BARE, Kind::Bare)];
        systems.extend(System::zenoh(Some("/ref".as_ref())));
        let mut all = entries("", &[flow(Topology::PeerToPeer, 1024)], &systems, |_| span);
        for (entry, rates) in all.iter_mut().zip([&[3e6, 1e6, 2e6][..], &[4e6], &[]]) {
            for rate in rates {
                entry.cell.add("rate", "msg/s", Better::Higher, *rate);
                entry.cell.add("cpu_sender", "ns/msg", Better::Lower, 41.6);
            }
        }
        let text = table(&all, &["bare", "zenoh"]).expect("rows");
        let rows = rows(&text);
        let expected = "1KiB p2p|zonda|2.00M|1.00M..3.00M|16.38|42|-|-|-|-|-|0.50|-";
        assert_eq!(rows[0], expected.split('|').collect::<Vec<_>>());
        let expected = "|bare|4.00M|-|32.77|42|-|-|-|-|-|-|-";
        assert_eq!(rows[1], expected.split('|').collect::<Vec<_>>());
        assert_eq!(rows[2][1..4], ["zenoh", "-", "-"]);
    }

    #[test]
    fn there_are_eight_cases_of_throughput() {
        let span = Span::after_half(Duration::from_secs(1));
        let all = throughput(&[System::own(ZONDA, None)], span);
        let names: Vec<String> = all.iter().map(Entry::to_string).collect();
        assert_eq!(names.len(), 8);
        assert_eq!(names[0], "throughput p2p 8B zonda");
        assert_eq!(names[7], "throughput routed 1MiB zonda");
    }
}
