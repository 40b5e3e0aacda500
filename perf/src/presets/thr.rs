// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf thr`: throughput by size, topology, number of publishers and subscribers, keys and
//! quality of service. Every round starts every program anew; in each round the systems take turns.
//! The receivers always check that each message is delivered exactly once and in order.

use std::time::Duration;

use clap::Args;
use zonda::config::RuntimeKind;
use zonda_program::{Failure, seconds, some_seconds};

use super::RecordArgs;
use crate::campaign::{Campaign, Entry, entries, settings};
use crate::link::LinkArgs;
use crate::measure::{ACCOUNT, measure};
use crate::numbers::short;
use crate::record::Cell;
use crate::reference::Reference;
use crate::scenario::flow::{Flow, Service};
use crate::scenario::sizes::{Sizes, sizes};
use crate::scenario::{Scenario, Topologies, bytes};
use crate::surroundings::note;
use crate::system::{BARE, Span, System, ZONDA};
use crate::table::{Table, by_role, or_none, range, times_better};
use crate::workers::sequence_check::PUBLISHERS_MAX;

/// Examples in the help, and the meaning of the table.
const HELP: &str = "\
Examples:
  zonda perf thr                                       five sizes, peer to peer and routed
  zonda perf thr --sizes 8..1G --topology p2p          every power of 8 from 8 B to 1 GiB
  zonda perf thr --sizes 8 --subscribers 50            one publisher, 50 subscribers
  zonda perf thr --sizes 8 --keys 10000                put on 10 000 keys in turn, no publisher declared
  zonda perf thr --link tls                            over TLS, beside rustls on a blocking socket
  zonda perf thr --link udp --sizes 1k --pace 200k     what UDP loses at a pace
  zonda perf thr --with-zenoh peers/zenoh/target/release --json thr.json
  zonda perf compare before.json after.json            what has changed since

How to read it:
  msg/s       deliveries per second, of all subscribers together
  CPU/msg     of the publishers for a message put / of the router / of the subscribers for one delivered
  lost %      with --link udp: of zonda's messages, those that were put and never came
  peak MiB    the most resident memory of a process of each role, in any round
  x bare      times as fast as blocking sockets with the least framing, x zenoh as the reference";

/// Options of `perf thr`.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Thr {
    /// Payloads: a list, or a range by powers of 8 (8..1M) or of another number (8..1M*4)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = sizes)]
    #[arg(default_value = "8,64,1k,64k,1M")]
    pub sizes: Vec<Sizes>,
    #[command(flatten)]
    pub topologies: Topologies,
    /// Programs that publish (fan-in)
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=i64::from(PUBLISHERS_MAX)))]
    pub publishers: u16,
    /// Programs that subscribe, each to everything (fan-out)
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub subscribers: u16,
    /// Put on so many keys in turn, without declaring a publisher
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub keys: Option<u32>,
    #[command(flatten)]
    pub service: Service,
    /// Start and measure everything this often; the table shows the median
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=50))]
    pub rounds: u32,
    /// Measure for this long in each round
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = some_seconds)]
    pub seconds: Duration,
    /// Let it flow for this long before [default: half of --seconds]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub warm_up: Option<Duration>,
    /// Runtime of the nodes measured
    #[arg(long, value_name = "NAME")]
    pub runtime: Option<RuntimeKind>,
    #[command(flatten)]
    pub linked: LinkArgs,
    #[command(flatten)]
    pub reference: Reference,
    #[command(flatten)]
    pub kept: RecordArgs,
    /// Only say what would be measured
    #[arg(long)]
    pub list: bool,
}

impl Thr {
    /// Returns the recording time and the warm-up before it.
    fn span(&self) -> Span {
        let seconds = self.seconds.as_secs_f64();
        let warm_up = self
            .warm_up
            .map_or(seconds / 2.0, |warm_up| warm_up.as_secs_f64());
        Span::new(warm_up, seconds)
    }

    fn flows(&self) -> Vec<Scenario> {
        let mut flows = Vec::new();
        for topology in self.topologies.each() {
            flows.extend(Sizes::all(&self.sizes).into_iter().map(|size| {
                Scenario::Flow(Flow {
                    topology,
                    publishers: self.publishers,
                    subscribers: self.subscribers,
                    keys: self.keys,
                    service: self.service,
                    size,
                })
            }));
        }
        flows
    }

    /// Measures, prints the table and writes the record.
    pub fn run(&self) -> Result<(), Failure> {
        let runtime = self.runtime.map(|kind| kind.name());
        let mut systems = vec![System::own(ZONDA, runtime)];
        systems.extend(System::yardsticks(self.reference.examples()?));
        let systems = self.linked.put(systems);
        // systems that cannot take part are reported
        let (flows, span) = (self.flows(), self.span());
        for system in &systems {
            let mut refused = flows.iter().rev();
            let refused = refused.find_map(|flow| Some((flow, system.refusal(flow)?)));
            if let Some((flow, why)) = refused {
                note(&format!("{flow}: {} is left out: {why}", system.name));
            }
        }
        let runtime = self.runtime.unwrap_or_default().name().into();
        let campaign = Campaign {
            tool: "thr",
            settings: settings(self.rounds, span, runtime),
            rounds: self.rounds,
            json: self.kept.json.as_deref(),
            is_list: self.list,
            keeps_samples: false,
            measure: &measure,
        };
        // measure
        let all = entries("", &flows, &systems, |_| span);
        let Some(outcome) = campaign.run(all)? else {
            return Ok(());
        };
        let table = table(&outcome.entries, &self.reference.columns(BARE)).unwrap_or_default();
        let legend = legend(&outcome.entries, &outcome.rounds(), span);
        outcome.print(&format!("{table}\n{legend}"));
        outcome.finish(self.kept.json.as_deref())
    }
}

fn table(entries: &[Entry], references: &[&str]) -> Option<String> {
    let is_lossy = entries.iter().any(|entry| entry.system.link.is_lossy());
    let lost = |entry: &Entry| {
        let lost = |cell: &Cell| Some(100.0 * cell.median("lost")? / cell.median("offered")?);
        or_none(lost(&entry.cell).map(|percent| format!("{percent:.1}")))
    };
    // the first word is enough
    let head = |of: &str| format!("x {}", of.split(' ').next().unwrap_or_default());
    Table::default()
        .title("case", |entry| entry.cell.case.clone())
        .title("size", |entry| bytes(entry.scenario.size()))
        .system("system")
        .median("msg/s", "rate", short)
        .ends("rate", range)
        .gigabits()
        .cpu()
        .column_if(is_lossy, "lost %", lost)
        .column("peak MiB", |entry| {
            by_role(&entry.cell, "rss", |s| short(s.max / 1024.0))
        })
        .beside(entries, references, head, times_better)
        .of(entries)
}

/// Returns the legend: the method, and the results of the check.
fn legend(entries: &[Entry], rounds: &str, span: Span) -> String {
    let zonda = entries.iter().filter(|entry| entry.system.name == ZONDA);
    let [offered, delivered, dropped, lost, duplicated, reordered] = ACCOUNT.map(|name| {
        let sums = zonda.clone().map(|entry| entry.cell.sum(name));
        // the sum of no figures is -0
        sums.sum::<f64>() + 0.0
    });
    format!(
        "{rounds} of {} s after {} s, all programs started anew in each, systems in turn. \
         CPU/msg and peak MiB: sender / router / receiver. x: times the throughput.\n\
         check of zonda's messages: {offered} offered, {delivered} delivered, {lost} lost \
         ({dropped} counted as dropped), {duplicated} duplicated, {reordered} reordered.",
        span.seconds, span.warm_up
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::flow;
    use crate::record::Better;
    use crate::scenario::Topology;
    use crate::system::ZENOH;
    use crate::table::tests::rows;

    #[test]
    fn rows_stand_beside_each_other() {
        let span = Span::new(0.5, 1.0);
        let mut systems = vec![System::own(ZONDA, None)];
        systems.extend(System::yardsticks(Some("/ref".as_ref())));
        let mut all = entries("", &[flow(Topology::PeerToPeer, 1024)], &systems, |_| span);
        for (entry, rates) in all.iter_mut().zip([&[3e6, 1e6, 2e6][..], &[4e6], &[]]) {
            for rate in rates {
                let cell = &mut entry.cell;
                cell.add("rate", "msg/s", Better::Higher, *rate);
                cell.add("cpu_sender", "ns/msg", Better::Lower, 41.6);
                cell.add("cpu_receiver", "ns/msg", Better::Lower, 12_000.0);
                cell.add("rss_sender", "KiB", Better::Lower, 10_240.0);
                cell.add("offered", "msg", Better::Neither, 7.0);
            }
        }
        let text = table(&all, &[BARE, ZENOH]).expect("rows");
        let rows = rows(&text);
        let expected = "p2p|1KiB|zonda|2.00M|1.00M..3.00M|16.38|41.6 ns / 12 µs|10.0|0.50|-";
        assert_eq!(rows[0], expected.split('|').collect::<Vec<_>>(), "{text}");
        assert_eq!(rows[1][..5], ["", "", "bare sockets", "4.00M", "-"]);
        assert_eq!(rows[2][2..], ["zenoh", "-", "-", "-", "-", "-", "-", "-"]);
        assert!(legend(&all, "median of 3 rounds", span).contains("21 offered"));
        assert!(legend(&[], "median of 3 rounds", span).contains("messages: 0 offered"));
    }
}
