// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf quick`: ten cases in about a minute.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use zonda::config::RuntimeKind;
use zonda_program::{Failure, some_seconds};

use super::{RecordArgs, flow};
use crate::campaign::{Campaign, Entry, entries, settings};
use crate::link::LinkArgs;
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
/// The name of bare sockets in this table.
pub const BARE: &str = "bare";

/// Options of `perf quick`.
#[derive(Args, Clone, Debug)]
pub struct Quick {
    /// Measure each cell this often; the table shows the median
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Measure for this long in each round
    #[arg(long, value_name = "SECONDS", default_value = "0.7", value_parser = some_seconds)]
    seconds: Duration,
    /// Only cells whose name has all of these words, such as "routed 8B" or "ping zonda" (repeatable)
    #[arg(long, value_name = "WORDS")]
    only: Vec<String>,
    /// Runtime of the nodes measured
    #[arg(long, value_name = "NAME")]
    runtime: Option<RuntimeKind>,
    /// Print the cells and how long they take, and exit
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    linked: LinkArgs,
    #[command(flatten)]
    reference: Reference,
    #[command(flatten)]
    kept: RecordArgs,
}

impl Quick {
    fn systems(&self) -> Result<Vec<System>, Failure> {
        let mut systems = vec![System::own(ZONDA, self.runtime.map(RuntimeKind::name))];
        systems.push(System::new(BARE, Kind::Bare));
        systems.extend(System::zenoh(self.reference.examples()?));
        Ok(self.linked.put(systems))
    }

    /// Measures, prints the table and writes the record.
    pub fn run(&self) -> Result<(), Failure> {
        let (systems, span) = (self.systems()?, Span::after_half(self.seconds));
        // flows and round trips
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
        // measure
        let runtime = json!(self.runtime.map_or("default", RuntimeKind::name));
        let campaign = Campaign {
            tool: "quick",
            settings: settings(self.rounds, span, runtime),
            rounds: self.rounds,
            json: self.kept.json.as_deref(),
            is_list: self.list,
            keeps_samples: true,
            measure: &measure,
        };
        let Some(outcome) = campaign.run(all)? else {
            return Ok(());
        };
        // tables
        let tables = tables(&outcome.entries, &self.reference.columns(BARE));
        let (legend, closing) = (self.legend(&outcome.rounds()), closing(&outcome.entries));
        outcome.print(&format!("{tables}{legend}\n{closing}"));
        outcome.finish(self.kept.json.as_deref())
    }

    fn legend(&self, rounds: &str) -> String {
        format!(
            "{rounds} of {} s each. CPU/msg: sender / router / receiver. x: times better (throughput, or p50). \
             bare: blocking sockets with the least framing.",
            self.seconds.as_secs_f64()
        )
    }
}

/// Returns the flows of every size, peer to peer and routed.
pub fn throughput(systems: &[System], span: Span) -> Vec<Entry> {
    let flows = |topology| THROUGHPUT_SIZES.map(|size| flow(topology, size));
    let flows = [flows(Topology::PeerToPeer), flows(Topology::Routed)].concat();
    entries("throughput ", &flows, systems, |_| span)
}

fn title(entry: &Entry) -> String {
    let scenario = &entry.scenario;
    format!("{} {}", bytes(scenario.size()), scenario.topology())
}

/// Returns the tables of flows and of round trips.
fn tables(entries: &[Entry], references: &[&str]) -> String {
    let (trips, flows): (Vec<&Entry>, Vec<&Entry>) = entries
        .iter()
        .partition(|entry| entry.scenario.trips().is_some());
    let flowing = Table::default()
        .title("throughput", title)
        .system("system")
        .median("msg/s", "rate", short)
        .ends("rate", range)
        .gigabits()
        .cpu()
        .beside(entries, references, |r| format!("x {r}"), times_better)
        .of(flows);
    let asking = Table::default()
        .title("round trip", title)
        .system("system")
        .median("p50 µs", "p50", tenths)
        .upper()
        .cpu()
        .beside(entries, references, |r| format!("x {r}"), times_better)
        .of(trips);
    let tables = [flowing, asking].into_iter().flatten();
    tables.map(|table| format!("{table}\n\n")).collect()
}

/// Returns a summary in one sentence: the rate of the smallest messages from peer to peer, and
/// their round trip.
fn closing(entries: &[Entry]) -> String {
    // the first flow and the first round trip from peer to peer
    let own = |is_trip: bool| {
        let all = entries.iter().filter(|entry| entry.system.name == ZONDA);
        let mut direct = all.filter(|entry| entry.scenario.topology() == Topology::PeerToPeer);
        direct.find(|entry| entry.scenario.trips().is_some() == is_trip)
    };
    // multiples of the other systems
    let beside = |entry: &Entry| {
        let others = entries.iter().filter(|other| {
            other.is_beside(entry) && other.system != entry.system && !other.cell.metrics.is_empty()
        });
        let times = others.filter_map(|other| {
            let times = times_better(&entry.cell, &other.cell)?;
            Some(format!(", {times:.2} times {}", other.system.name))
        });
        times.collect::<String>()
    };
    // both parts of the sentence
    let flow = own(false).and_then(|entry| {
        let (size, rate) = (bytes(entry.scenario.size()), entry.cell.median("rate")?);
        let rate = short(rate);
        Some(format!("{size}: {rate} messages a second{}", beside(entry)))
    });
    let trip = own(true).and_then(|entry| {
        let p50 = tenths(entry.cell.median("p50")?);
        Some(format!("round trip: {p50} µs{}", beside(entry)))
    });
    let all: Vec<String> = [flow, trip].into_iter().flatten().collect();
    match all.is_empty() {
        true => String::new(),
        false => format!("Peer to peer, {}.", all.join("; ")),
    }
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
        let text = tables(&all, &["bare", "zenoh"]);
        let rows = rows(&text);
        let expected = "1KiB p2p|zonda|2.00M|1.00M..3.00M|16.38|41.6 ns|0.50|-";
        assert_eq!(rows[0], expected.split('|').collect::<Vec<_>>());
        let expected = "|bare|4.00M|-|32.77|41.6 ns|-|-";
        assert_eq!(rows[1], expected.split('|').collect::<Vec<_>>());
        assert_eq!(rows[2][1..4], ["zenoh", "-", "-"]);
        assert_eq!(
            closing(&all),
            "Peer to peer, 1KiB: 2.00M messages a second, 0.50 times bare."
        );
        assert_eq!(closing(&[]), "");
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
