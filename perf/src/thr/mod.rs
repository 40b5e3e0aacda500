// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf thr`: how much flows, by size, topology, number of publishers and subscribers, keys and
//! quality of service. Every round starts every program anew; in each round the systems take turns.
//! Whether each message came exactly once and in order is checked always.

mod check;
pub mod command;
pub mod flow;
pub mod measure;
mod orders;
pub mod plan;
pub mod reporter;
mod scene;
pub mod sizes;
pub mod stamper;
mod table;
pub mod tally;
mod worker;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};
use zonda::config::RuntimeKind;
use zonda_program::{Failure, Interrupt, print_lines, seconds};

use super::case::Topologies;
use super::level::Level;
use super::machine;
use super::record::{Record, settings};
use super::reference::Examples;
use super::run::{self, ENDS_EARLY, note, warn_of_surroundings};
use super::system::{Span, System};
use super::table::short;
use super::trouble::Trouble;
use command::Command;
use flow::{Flow, Service};
use measure::measure;
use plan::{Entry, order, system_name};
use sizes::{Sizes, sizes};

pub use worker::Worker;

/// For starting and ending the programs of a round, in seconds.
const AROUND: f64 = 0.3;

/// What a reader of the help tries first, and how to read what comes out.
const HELP: &str = "\
Examples:
  zonda perf thr                                       five sizes, peer to peer and routed
  zonda perf thr --sizes 8..1G --topology p2p          every power of 8 from 8 B to 1 GiB
  zonda perf thr --sizes 8 --subscribers 50            one publisher, 50 subscribers
  zonda perf thr --sizes 8 --keys 10000                put on 10 000 keys in turn, no publisher declared
  zonda perf thr --with-zenoh peers/zenoh/target/release --json thr.json
  zonda perf compare before.json after.json            what has changed since

How to read it:
  msg/s       deliveries per second, of all subscribers together
  CPU ns/msg  of the publishers for a message put / of the router / of the subscribers for one delivered
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
    #[arg(value_parser = clap::value_parser!(u16).range(1..=i64::from(tally::PUBLISHERS_MAX)))]
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
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub seconds: Duration,
    /// Let it flow for this long before [default: half of --seconds]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub warm_up: Option<Duration>,
    /// Runtime of the nodes measured
    #[arg(long, value_name = "NAME")]
    pub runtime: Option<RuntimeKind>,
    #[command(flatten)]
    pub reference: Examples,
    /// Write every figure of every round, and where it was measured, to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Only say what would be measured
    #[arg(long)]
    pub list: bool,
}

impl Thr {
    /// Recording time and the warm-up before it.
    fn span(&self) -> Span {
        let seconds = self.seconds.as_secs_f64();
        let warm_up = self
            .warm_up
            .map_or(seconds / 2.0, |warm_up| warm_up.as_secs_f64());
        Span { warm_up, seconds }
    }

    fn flows(&self) -> Vec<Flow> {
        let mut flows = Vec::new();
        for topology in self.topologies.each() {
            flows.extend(Sizes::all(&self.sizes).into_iter().map(|size| Flow {
                topology,
                publishers: self.publishers,
                subscribers: self.subscribers,
                keys: self.keys,
                service: self.service,
                size,
            }));
        }
        flows
    }

    fn systems(&self) -> Result<Vec<System>, Failure> {
        let runtime = self.runtime.map(|kind| kind.name());
        System::all(&[Level::Session], runtime, self.reference.directory()?)
    }

    /// What changes the meaning of the figures, beside what the cells say.
    fn settings(&self) -> Map<String, Value> {
        settings(self.rounds, self.span(), self.runtime)
    }

    /// Measures, prints the table and writes the record.
    pub fn run(&self) -> Result<(), Failure> {
        let (mut entries, refused) = plan::entries(&self.flows(), &self.systems()?);
        for (system, why) in refused {
            note(&format!("{system} is left out: {why}"));
        }
        if self.list {
            print_lines(format_args!(
                "{}\n{}",
                plan::list(&entries),
                self.length(entries.len())
            ));
            return Ok(());
        }
        if let Some(file) = &self.json {
            Record::reserve(file)?;
        }
        let interrupt = run::interrupt()?;
        let mut record = Record::begin("thr", self.settings());
        warn_of_surroundings();
        note(&format!("{}; {ENDS_EARLY}", self.length(entries.len())));
        let is_whole = self.measure(&mut entries, &interrupt)?;
        record.cells = entries.iter().map(|entry| entry.cell.clone()).collect();
        let references: &[&str] = match self.reference.with_zenoh {
            Some(_) => &[system_name::BARE, system_name::ZENOH],
            None => &[system_name::BARE],
        };
        print_lines(format_args!(
            "{}\n{}\n{}",
            machine::summary(),
            table::table(&record, references),
            table::legend(&record, self.rounds, self.span())
        ));
        if let Some(file) = &self.json {
            record.write(file)?;
        }
        verdict(&entries, is_whole)
    }

    fn length(&self, cells: usize) -> String {
        let Span { warm_up, seconds } = self.span();
        let round = (warm_up + seconds + AROUND) * cells as f64;
        run::length(cells, self.rounds, round)
    }

    /// All rounds; false if the user ended them early.
    fn measure(&self, entries: &mut [Entry], interrupt: &Interrupt) -> Result<bool, Failure> {
        let turns = 0..self.rounds as usize;
        let orders: Vec<_> = turns.map(|turn| order(entries, turn)).collect();
        let span = self.span();
        run::all(entries, &orders, interrupt, Entry::to_string, |entry| {
            entry.round(span, interrupt)
        })
    }
}

impl Entry {
    /// One round. A cell that had trouble is not tried again; one where messages went wrong is.
    ///
    /// # Errors
    /// Only if the user interrupts.
    pub fn round(&mut self, span: Span, interrupt: &Interrupt) -> Result<String, Failure> {
        if self.had_trouble {
            return Ok("not tried again".into());
        }
        let command = Command {
            system: &self.system,
            flow: &self.flow,
        };
        match measure(command, span, interrupt) {
            Ok(round) => {
                round.add_to(&mut self.cell, &self.flow);
                let fault = round.check.and_then(|check| check.fault(&self.flow));
                let rate = format!("{} msg/s", short(round.rate));
                let Some(fault) = fault else {
                    return Ok(rate);
                };
                let outcome = format!("{rate}, {fault}");
                self.cell.note.get_or_insert(fault);
                Ok(outcome)
            }
            // the signal has ended the programs, too
            Err(_) if interrupt.happened() => Err(Failure::Run(Trouble::Interrupted.to_string())),
            Err(trouble) => {
                let text = trouble.to_string();
                self.cell.fail(text.clone());
                self.had_trouble = true;
                Ok(text)
            }
        }
    }
}

fn verdict(entries: &[Entry], is_whole: bool) -> Result<(), Failure> {
    let (mut failed, mut faulty) = (0, Vec::new());
    for entry in entries {
        let Some(told) = &entry.cell.note else {
            continue;
        };
        note(&format!("{entry}: {told}"));
        if entry.had_trouble {
            failed += 1;
        } else {
            faulty.push(format!("{entry} ({told})"));
        }
    }
    if let Some(first) = faulty.first() {
        return Err(Failure::Run(format!(
            "messages went wrong in {} of {} cells: {first}",
            faulty.len(),
            entries.len()
        )));
    }
    if failed > 0 {
        return Err(Failure::Run(format!(
            "{failed} of {} cells could not be measured",
            entries.len()
        )));
    }
    if !is_whole {
        return Err(Failure::Run("interrupted: not all rounds were made".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Topology;

    fn entry() -> Entry {
        let executable = PathBuf::from("zonda");
        let flow = Flow {
            topology: Topology::Routed,
            publishers: 1,
            subscribers: 1,
            keys: None,
            service: Service::default(),
            size: 8,
        };
        Entry::new(&System::Bare { executable }, &flow)
    }

    #[test]
    fn one_lost_message_fails_the_run_and_is_named() {
        let (good, mut bad, mut broken) = (entry(), entry(), entry());
        let alone = std::slice::from_ref(&good);
        assert!(verdict(alone, true).is_ok());
        assert!(verdict(alone, false).is_err());
        bad.cell.note = Some("of 9 messages 1 lost".into());
        broken.cell.fail("it did not start");
        broken.had_trouble = true;
        let told = |entries: &[Entry]| match verdict(entries, true) {
            Err(failure) => failure.to_string(),
            Ok(()) => String::new(),
        };
        assert_eq!(
            told(&[good.clone(), broken.clone(), bad]),
            "messages went wrong in 1 of 3 cells: routed 8B bare sockets (of 9 messages 1 lost)"
        );
        assert_eq!(told(&[good, broken]), "1 of 2 cells could not be measured");
    }
}
