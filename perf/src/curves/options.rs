// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags of `perf curves`, and what they ask for.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};
use zonda::config::RuntimeKind;
use zonda_program::{Failure, seconds};

use super::cell::Part;
use crate::case::Topologies;
use crate::lat::plan::{Contender, Wanted};
use crate::lat::rates::{Rate, plan_rate};
use crate::level::Level;
use crate::record::settings;
use crate::reference::Programs;
use crate::system::{Span, System};
use crate::thr::flow::{Flow, Service};
use crate::thr::plan::system_name;
use crate::thr::sizes::{Sizes, sizes};
use crate::{lat, thr};

/// What a reader of the help tries first, and what comes out.
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

/// Round trips have messages of this size, in bytes.
const TRIP_BYTES: usize = 64;
/// A slow rate is measured for as long as so many messages take.
const LEAST: f64 = 10.0;
/// The same with `--quick`.
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
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = plan_rate)]
    pub rates: Vec<Rate>,
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
    pub reference: Programs,
    /// Where curves.json and curves.html are written
    #[arg(long, value_name = "DIR", default_value = "zonda-curves")]
    pub out: PathBuf,
    /// Only say what would be measured, and how long it would take
    #[arg(long)]
    pub list: bool,
}

impl Curves {
    /// How often each point is measured.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    fn span(&self) -> Span {
        let usual = Duration::from_millis(if self.quick { 500 } else { 1000 });
        let seconds = self.seconds.unwrap_or(usual).as_secs_f64();
        Span {
            warm_up: seconds / 2.0,
            seconds,
        }
    }

    /// How long latency is measured at a rate.
    fn span_at(&self, rate: Rate) -> Span {
        let Span { warm_up, seconds } = self.span();
        let least = if self.quick { LEAST_QUICK } else { LEAST };
        let least = rate.0.map_or(0.0, |rate| least / rate);
        Span {
            warm_up,
            seconds: seconds.max(least),
        }
    }

    fn sizes(&self) -> Vec<usize> {
        let usual = match self.quick {
            true => vec![8, 1 << 10, 64 << 10, 1 << 20],
            false => (1..=10).map(|power| 1 << (3 * power)).collect(),
        };
        match self.sizes.is_empty() {
            true => usual,
            false => Sizes::all(&self.sizes),
        }
    }

    fn rates(&self) -> Vec<Rate> {
        let usual: &[f64] = match self.quick {
            true => &[1e1, 1e3, 1e5],
            false => &[1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6],
        };
        match self.rates.is_empty() {
            true => {
                let usual = usual.iter().map(|rate| Rate(Some(*rate)));
                usual.chain([Rate(None)]).collect()
            }
            false => self.rates.clone(),
        }
    }

    fn systems(&self) -> Result<Vec<System>, Failure> {
        let runtime = self.runtime.map(|kind| kind.name());
        let levels = [Level::Session, Level::Node];
        System::all(&levels, runtime, self.reference.directory()?)
    }

    /// Every point of every curve.
    pub fn parts(&self) -> Result<Vec<Part>, Failure> {
        let systems = self.systems()?;
        let mut flows = Vec::new();
        for topology in self.topologies.each() {
            flows.extend(self.sizes().into_iter().map(|size| Flow {
                topology,
                publishers: 1,
                subscribers: 1,
                keys: None,
                service: Service::default(),
                size,
            }));
        }
        let (entries, _) = thr::plan::entries(&flows, &systems);
        let throughput = entries
            .into_iter()
            .map(|entry| Part::Throughput(entry, self.span()));
        let contender = |system: System| Contender {
            name: system_name::of(&system).to_owned(),
            system,
            spin_us: None,
        };
        let contenders: Vec<Contender> = systems.iter().cloned().map(contender).collect();
        let wanted = Wanted {
            topologies: self.topologies.each(),
            sizes: vec![TRIP_BYTES],
            rates: self.rates(),
            load: None,
        };
        let entries = lat::plan::entries(&wanted, &contenders);
        let latency = entries.into_iter().map(|entry| {
            let span = self.span_at(entry.case.rate);
            Part::Latency(entry, span)
        });
        Ok(throughput.chain(latency).collect())
    }

    /// What changes the meaning of the figures, beside what the cells say.
    pub fn settings(&self) -> Map<String, Value> {
        settings(self.rounds(), self.span(), self.runtime)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::cell::order;
    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        curves: Curves,
    }

    fn parts(line: &str) -> Vec<Part> {
        let words = ["curves"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).expect("flags");
        line.curves.parts().expect("a plan")
    }

    #[test]
    fn the_whole_set_has_the_ends_of_the_published_curves() {
        let names: Vec<String> = parts("").iter().map(Part::name).collect();
        // 10 sizes and 8 rates, two ways, three systems
        assert_eq!(names.len(), (10 + 8) * 2 * 3);
        for name in [
            "throughput p2p 8B zonda",
            "throughput routed 1GiB node",
            "latency p2p 64B 1/s bare sockets",
            "latency routed 64B 1M/s node",
            "latency p2p 64B back to back zonda",
        ] {
            assert!(
                names.iter().any(|n| n == name),
                "{name} is not in {names:?}"
            );
        }
    }

    #[test]
    fn a_few_minutes_are_enough_for_some() {
        let parts = parts("--quick");
        let round: f64 = parts.iter().map(Part::seconds).sum();
        assert!(round * 2.0 < 200.0, "{round}");
    }

    #[test]
    fn slow_rates_take_their_time_and_systems_take_turns() {
        let parts = parts("--sizes 8 --rates 1,max --topology p2p --seconds 0.1");
        let seconds: Vec<f64> = parts.iter().map(Part::seconds).collect();
        assert_eq!(parts.len(), 9);
        assert!(seconds[3] > 10.0 && seconds[6] < 1.0, "{seconds:?}");
        assert_eq!(order(&parts, 0), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(order(&parts, 1), [1, 2, 0, 4, 5, 3, 7, 8, 6]);
        let cell = parts[4].cell();
        assert_eq!(
            (cell.system.as_str(), cell.case.as_str()),
            ("node", "latency p2p 64B")
        );
    }
}
