// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf runtimes`: the whole node on every runtime that is compiled in, compared with the
//! raw ping-pong of the same runtime and with bare sockets.

mod advice;
mod tables;

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use zonda::config::RuntimeKind;
use zonda_program::{Failure, seconds};

use super::RecordArgs;
use super::quick::{BARE, ROUND_TRIP_SIZE, throughput};
use crate::campaign::{Campaign, Entry, entries, settings};
use crate::link::LinkArgs;
use crate::measure::measure;
use crate::scenario::rates::Pace;
use crate::scenario::{Receiving, Scenario, Topology, Trips};
use crate::surroundings::note;
use crate::system::{Kind, Span, System};
use advice::Advice;

/// The rate of the round trips that are not back to back.
const SLOW_HERTZ: u32 = 1000;
/// The prefix of the raw ping-pongs' names.
const RAW: &str = "raw ";

/// Examples in the help, and the meaning of the tables.
const HELP: &str = "\
Examples:
  zonda perf runtimes                                  everything, about ten minutes
  zonda perf runtimes --only '8B p2p' --only callback  less of it
  zonda perf runtimes --only 'p2p back-to-back'        the node beside the raw ping-pong
  zonda perf runtimes --runtimes tokio,threads         two of them
  zonda perf runtimes --rounds 10 --json all.json      more certain, and everything kept

How to read it:
  callback   the answer is taken in the subscriber's callback, which sends the next message:
             no more threads than the raw ping-pong has
  queue      the answer goes to the main thread through the subscriber's queue: one wake-up more
  raw        the ping-pong of `zonda perf rtt` by the same runtime's own sockets, no protocol
  bare       blocking sockets with the least framing
  no significant difference   with these rounds, it may well be chance (p >= 0.05)";

/// Options of `perf runtimes`.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Runtimes {
    /// Measure each cell this often; the tables show the median and the range. To tell six runtimes
    /// apart takes 5
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=50))]
    rounds: u32,
    /// Measure for this long in each round, after a warm-up of half of it
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    seconds: Duration,
    /// Only cells whose name has all of these words, such as "throughput routed 8B", "p2p 1kHz" or
    /// "callback raw" (repeatable)
    #[arg(long, value_name = "WORDS")]
    only: Vec<String>,
    /// Only these runtimes, such as tokio,smol [default: all that are compiled in]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    runtimes: Vec<RuntimeKind>,
    #[command(flatten)]
    linked: LinkArgs,
    #[command(flatten)]
    kept: RecordArgs,
}

/// The runtimes to measure, and those that cannot start here, with the reasons.
type Kinds = (Vec<RuntimeKind>, Vec<(RuntimeKind, String)>);

impl Runtimes {
    fn kinds(&self) -> Kinds {
        let named = match self.runtimes.is_empty() {
            true => RuntimeKind::available().collect(),
            false => self.runtimes.clone(),
        };
        let (mut kinds, mut left_out) = (Vec::new(), Vec::new());
        for kind in crate::scenario::distinct(named) {
            match refusal(kind) {
                None => kinds.push(kind),
                Some(why) => left_out.push((kind, why)),
            }
        }
        (kinds, left_out)
    }

    /// Measures, prints the tables and writes the record.
    pub fn run(&self) -> Result<(), Failure> {
        let (kinds, left_out) = self.kinds();
        for (kind, why) in &left_out {
            note(&format!("{kind} is left out: {why}"));
        }
        if kinds.is_empty() {
            return Err(Failure::Run("no runtime is left to measure".into()));
        }
        // the cells that the flags select
        let span = Span::after_half(self.seconds);
        let mut all = cells(&kinds, span, self.linked);
        all.retain(|entry| entry.is_wanted(&self.only));
        if all.is_empty() {
            let only = &self.only;
            let text = format!("--only {only:?}: no such cell, try \"8B p2p\" or \"callback\"");
            return Err(Failure::Usage(text));
        }
        // measure
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let campaign = Campaign {
            tool: "runtimes",
            settings: settings(self.rounds, span, json!(names)),
            rounds: self.rounds,
            json: self.kept.json.as_deref(),
            is_list: false,
            keeps_samples: true,
            measure: &measure,
        };
        let Some(mut outcome) = campaign.run(all)? else {
            return Ok(());
        };
        // tables, and the advice for the record
        let advice = advice::advice(&outcome.entries);
        let tables = tables::tables(&outcome.entries, &advice);
        outcome.print(&format!("\n{tables}\n{}", self.legend(&advice)));
        let left_out = left_out.iter();
        let left_out = left_out.map(|(kind, why)| json!({"runtime": kind.name(), "why": why}));
        let more = &mut outcome.record.more;
        more.insert("left_out".into(), left_out.collect());
        more.insert(
            "advice".into(),
            advice.iter().map(Advice::to_json).collect::<Value>(),
        );
        outcome.finish(self.kept.json.as_deref())
    }

    fn legend(&self, advice: &[Advice]) -> String {
        let mut text = format!(
            "{} of {} s each, interleaved, not pinned to processors. Figures: median of the \
             rounds; p99.9: of all round trips together. x raw, x bare: p50 in multiples of the yardstick's.\n\
             Score: geometric mean over the cases in question (latency: callback; CPU: all but 1 kHz). \
             Significant: the exact rank test of Mann and Whitney on the scores of the rounds, corrected \
             after Holm, gives p < {}.",
            times(self.rounds),
            self.seconds.as_secs_f64(),
            advice::LEVEL,
        );
        let needed = advice.iter().filter_map(Advice::rounds_needed).max();
        if let Some(needed) = needed {
            text += &format!(
                "\nThese rounds are too few for a significant difference among so many runtimes, whatever they show: \
                 --rounds {needed} is the least."
            );
        }
        text
    }
}

/// Returns the throughput of `perf quick`, and round trips. The raw ping-pongs have no router and
/// no queue, bare sockets no queue.
fn cells(kinds: &[RuntimeKind], span: Span, linked: LinkArgs) -> Vec<Entry> {
    let node = |kind: &RuntimeKind| System::own(kind.name(), Some(kind.name()));
    let raw = |kind: &RuntimeKind| {
        let backend = match kind {
            // blocking sockets have another name there
            RuntimeKind::Threads => "std",
            kind => kind.name(),
        };
        System::new(format!("{RAW}{kind}"), Kind::Raw(backend))
    };
    let mut systems: Vec<System> = kinds.iter().map(node).collect();
    systems.extend(kinds.iter().map(raw));
    systems.push(System::new(BARE, Kind::Bare));
    let systems = linked.put(systems);
    // flows of all systems, then round trips, except queues of yardsticks
    let mut all = throughput(&systems, span);
    all.extend(entries("ping ", &trips(), &systems, |_| span));
    all.retain(|entry| {
        let trips = entry.scenario.trips();
        let by_queue = trips.is_some_and(|t| t.receiving == Some(Receiving::Queue));
        entry.system.is_own() || !by_queue
    });
    all
}

fn trips() -> Vec<Scenario> {
    let mut all = Vec::new();
    // the queue's cost is the same behind a router
    for (topology, receiving) in [
        (Topology::PeerToPeer, Receiving::Callback),
        (Topology::PeerToPeer, Receiving::Queue),
        (Topology::Routed, Receiving::Callback),
    ] {
        all.extend([Pace::BackToBack, Pace::Paced(SLOW_HERTZ)].map(|pace| {
            Scenario::Trips(Trips {
                receiving: Some(receiving),
                ..Trips::new(topology, ROUND_TRIP_SIZE, pace)
            })
        }));
    }
    all
}

/// Formats a number of rounds.
fn times(rounds: u32) -> String {
    match rounds {
        1 => "1 round".to_owned(),
        n => format!("{n} rounds"),
    }
}

/// Returns the reason why a runtime cannot start here; `None` if it can.
fn refusal(kind: RuntimeKind) -> Option<String> {
    match kind.effective() {
        Ok((_, why)) => why,
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [RuntimeKind; 2] = [RuntimeKind::Smol, RuntimeKind::Threads];

    fn all(only: &[&str]) -> Vec<Entry> {
        let span = Span::after_half(Duration::from_secs(1));
        let mut all = cells(&KINDS, span, LinkArgs::default());
        let only: Vec<String> = only.iter().map(|words| (*words).to_owned()).collect();
        all.retain(|entry| entry.is_wanted(&only));
        all
    }

    #[test]
    fn yardsticks_stand_beside_what_they_can_do() {
        let all = all(&[]);
        let count = |is: fn(&Kind) -> bool| all.iter().filter(|e| is(&e.system.kind)).count();
        // 8 flows and 6 round trips for each runtime; the yardsticks have no queues
        assert_eq!(count(|kind| matches!(kind, Kind::Zonda(_))), 28);
        assert_eq!(count(|kind| matches!(kind, Kind::Raw(_))), 4);
        assert_eq!(count(|kind| matches!(kind, Kind::Bare)), 12);
    }

    #[test]
    fn words_choose() {
        let names =
            |only: &str| -> Vec<String> { all(&[only]).iter().map(Entry::to_string).collect() };
        let expected = [
            "ping p2p 64B back-to-back callback smol",
            "ping p2p 64B back-to-back callback raw smol",
        ];
        assert_eq!(names("p2p back-to-back callback smol"), expected);
        assert_eq!(names("8B routed bare"), ["throughput routed 8B bare"]);
        assert!(names("udp").is_empty());
    }
}
