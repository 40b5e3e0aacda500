// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf scale`: what great numbers cost a router, of clients that are connected and of subscriptions that are
//! declared. The router is a process of its own; the clients live in this one.

mod crowd;
mod descriptors;
mod figures;
mod flow;
mod host;
mod idle;
mod many;
mod table;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};
use zonda_program::{Failure, Interrupt, print_lines, seconds};

use super::level::Level;
use super::link::Link;
use super::machine;
use super::process::this_program;
use super::progress::Progress;
use super::record::{Cell, Record};
use super::run::{self, warn_of_surroundings};
use super::system::System;
use super::trouble::Trouble;
use figures::Figures;

/// How long a router may take for anything.
const PATIENCE: Duration = Duration::from_secs(180);
/// The key of the messages that are routed, which no other subscription has.
const KEY: &str = "plant/probe";
/// What is measured if nothing is asked for.
const CONNECTIONS: u32 = 1000;
const SUBSCRIPTIONS: u32 = 1_000_000;

/// What a reader of the help tries first, and how to read what comes out.
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
                 and the longest that one of these was under way is told";

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
    runtime: Option<String>,
    /// Measure the reference's router too, in the same rounds: a directory with its zenohd
    #[arg(long, value_name = "DIR")]
    with_zenoh: Option<PathBuf>,
    /// Write everything that was measured, and where, to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What is asked for, in plain numbers.
struct Plan {
    /// Idle clients.
    connections: u32,
    /// Subscriptions in all.
    subscriptions: u32,
    sessions: u32,
    seconds: Duration,
}

/// One of the two things that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Connections,
    Subscriptions,
}

impl Scale {
    /// Measures, prints the table and writes the file.
    pub fn run(&self) -> Result<(), Failure> {
        let (plan, cases, systems) = (self.plan()?, self.cases(), self.systems()?);
        if let Some(file) = &self.json {
            Record::reserve(file)?;
        }
        let interrupt = run::interrupt()?;
        descriptors::raise();
        warn_of_surroundings();
        let mut record = Record::begin("scale", self.settings());
        for &case in &cases {
            for system in &systems {
                let cell = Cell::new(system.name(), case.name());
                record
                    .cells
                    .push(cell.at(case.name(), "", f64::from(case.count(&plan))));
            }
        }
        let is_whole = self.measure(&plan, &cases, &systems, &mut record, &interrupt)?;
        print_lines(format_args!(
            "{}\n{}",
            machine::summary(),
            table::table(&record.cells)
        ));
        print_lines(format_args!("{}", self.legend()));
        if let Some(file) = &self.json {
            record.write(file)?;
        }
        run::verdict(record.cells.iter().map(|cell| {
            let note = cell.note.as_ref()?;
            Some(format!("{cell}: {note}"))
        }))?;
        run::whole(is_whole)
    }

    /// All rounds, into the cells of the record; false if the user ended them early.
    fn measure(
        &self,
        plan: &Plan,
        cases: &[Case],
        systems: &[System],
        record: &mut Record,
        interrupt: &Interrupt,
    ) -> Result<bool, Failure> {
        let mut progress = Progress::new(record.cells.len() * self.rounds as usize);
        for _ in 0..self.rounds {
            let turns = cases
                .iter()
                .flat_map(|case| systems.iter().map(move |s| (case, s)));
            for ((case, system), cell) in turns.zip(&mut record.cells) {
                let what = format!("{} {} {}", case.count(plan), case.name(), system.name());
                progress.begin(&what);
                if cell.note.is_some() {
                    progress.step(&what, "not tried again");
                    continue;
                }
                match case.measure(plan, system, interrupt) {
                    Ok(figures) => {
                        progress.step(&what, &figures.to_string());
                        figures.into_cell(cell);
                    }
                    Err(Trouble::Interrupted) => return Ok(false),
                    Err(_) if interrupt.happened() => return Ok(false),
                    Err(trouble) => {
                        progress.step(&what, &trouble.to_string());
                        cell.fail(trouble.to_string());
                    }
                }
            }
        }
        Ok(true)
    }

    fn cases(&self) -> Vec<Case> {
        match (self.connections, self.subscriptions) {
            (Some(_), None) => vec![Case::Connections],
            (None, Some(_)) => vec![Case::Subscriptions],
            _ => vec![Case::Connections, Case::Subscriptions],
        }
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let plan = Plan {
            connections: self.connections.unwrap_or(CONNECTIONS),
            subscriptions: self.subscriptions.unwrap_or(SUBSCRIPTIONS),
            sessions: self.sessions,
            seconds: self.seconds,
        };
        if plan.sessions > plan.subscriptions {
            return Err(Failure::Usage(format!(
                "--sessions {} is more than --subscriptions {}: each session declares at least one",
                plan.sessions, plan.subscriptions
            )));
        }
        Ok(plan)
    }

    fn systems(&self) -> Result<Vec<System>, Failure> {
        let executable = this_program()?;
        let runtime = self.runtime.clone();
        let mut systems = vec![System::Zonda {
            executable,
            runtime,
            level: Level::Session,
            link: Link::Tcp,
        }];
        if let Some(directory) = &self.with_zenoh {
            let file = directory.join(format!("zenohd{}", std::env::consts::EXE_SUFFIX));
            if !file.is_file() {
                let text = format!("--with-zenoh {}: no zenohd there", directory.display());
                return Err(Failure::Usage(text));
            }
            systems.push(System::Zenoh {
                directory: directory.clone(),
            });
        }
        Ok(systems)
    }

    fn settings(&self) -> Map<String, Value> {
        let runtime = self.runtime.as_deref().unwrap_or("default");
        Map::from_iter([
            ("rounds".to_owned(), json!(self.rounds)),
            ("seconds".to_owned(), json!(self.seconds.as_secs_f64())),
            ("sessions".to_owned(), json!(self.sessions)),
            ("runtime".to_owned(), json!(runtime)),
        ])
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

impl Case {
    /// As in tables.
    fn name(self) -> &'static str {
        match self {
            Case::Connections => "connections",
            Case::Subscriptions => "subscriptions",
        }
    }

    fn count(self, plan: &Plan) -> u32 {
        match self {
            Case::Connections => plan.connections,
            Case::Subscriptions => plan.subscriptions,
        }
    }

    fn measure(
        self,
        plan: &Plan,
        system: &System,
        interrupt: &Interrupt,
    ) -> Result<Figures, Trouble> {
        match self {
            Case::Connections => idle::measure(plan, system, interrupt),
            Case::Subscriptions => many::measure(plan, system, interrupt),
        }
    }
}

impl Plan {
    /// How many subscriptions a session declares.
    fn share(&self, session: u32) -> u32 {
        let one_more = session < self.subscriptions % self.sessions;
        self.subscriptions / self.sessions + u32::from(one_more)
    }
}

/// The key of a subscription of a session.
fn subscription(session: u32, number: u32) -> String {
    format!(
        "plant/{session}/line/{}/sensor/{}",
        number / 100,
        number % 100
    )
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_subscription_is_declared_once() {
        for (subscriptions, sessions) in [(1, 1), (10, 3), (1000, 7), (250, 250)] {
            let plan = Plan {
                connections: 1,
                subscriptions,
                sessions,
                seconds: Duration::ZERO,
            };
            let keys: HashSet<String> = (0..sessions)
                .flat_map(|s| (0..plan.share(s)).map(move |n| subscription(s, n)))
                .collect();
            assert_eq!(keys.len(), subscriptions as usize);
            assert!(
                keys.iter()
                    .all(|key| zonda_codec::KeyExpr::new(key.as_str()).is_ok())
            );
        }
    }
}
