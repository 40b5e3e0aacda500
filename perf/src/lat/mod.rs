// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf lat`: how long a message and its answer are under way through the whole node, back to back and on a
//! schedule. On a schedule each message is due at a fixed time, and its latency is counted from there: whatever holds it
//! up, the sender included, shows at its true height.

mod asking;
mod bare;
mod book;
pub mod cast;
mod circle;
mod drive;
mod load;
mod options;
pub mod plan;
pub mod rates;
mod round;
mod table;
mod told;
mod worker;

use zonda_program::{Failure, Interrupt, print_lines};

use super::machine;
use super::record::Record;
use super::run::{self, ENDS_EARLY, note, warn_of_surroundings};
use super::system::Span;
use super::trouble::Trouble;
use cast::Players;
use plan::Entry;

pub use options::{Lat, is_express};
pub use worker::Worker;

/// For starting and ending the programs of a round, in seconds.
const AROUND: f64 = 0.6;

impl Lat {
    /// Measures, prints the tables and writes the record.
    pub fn run(&self) -> Result<(), Failure> {
        let contenders = self.contenders()?;
        let mut entries = plan::entries(&self.wanted()?, &contenders);
        if self.list {
            return self.print_list(&entries);
        }
        if let Some(file) = &self.json {
            // better now than after minutes of work
            Record::reserve(file)?;
        }
        let interrupt = run::interrupt()?;
        let mut record = Record::begin("lat", self.settings());
        warn_of_surroundings();
        note(&self.length(&entries));
        let is_whole = self.measure(&mut entries, &interrupt)?;
        self.print_tables(&entries);
        if let Some(file) = &self.json {
            record.cells = entries.iter().map(|e| e.cell.clone()).collect();
            record.write(file)?;
        }
        verdict(&entries, is_whole)
    }

    /// How long one entry is measured: a slow rate takes its time.
    fn span(&self, entry: &Entry) -> Span {
        let least = entry
            .case
            .rate
            .0
            .map_or(0.0, |rate| f64::from(self.least) / rate);
        Span {
            warm_up: self.warm_up.as_secs_f64(),
            seconds: self.seconds.as_secs_f64().max(least),
        }
    }

    fn print_list(&self, entries: &[Entry]) -> Result<(), Failure> {
        for entry in entries {
            let seconds = self.span(entry).seconds;
            print_lines(format_args!("{} ({seconds} s)", entry.name()));
        }
        print_lines(format_args!("{}", self.length(entries)));
        Ok(())
    }

    /// How long it takes, in words.
    fn length(&self, entries: &[Entry]) -> String {
        let of = |entry| {
            let Span { warm_up, seconds } = self.span(entry);
            warm_up + seconds + AROUND
        };
        let round: f64 = entries.iter().map(of).sum();
        let length = run::length(entries.len(), self.rounds, round);
        format!("{length}; {ENDS_EARLY}")
    }

    /// All rounds, forwards and backwards in turns so that nobody always comes first; false if the user ended them early.
    fn measure(&self, entries: &mut [Entry], interrupt: &Interrupt) -> Result<bool, Failure> {
        let orders: Vec<Vec<usize>> = (0..self.rounds)
            .map(|turn| match turn.is_multiple_of(2) {
                true => (0..entries.len()).collect(),
                false => (0..entries.len()).rev().collect(),
            })
            .collect();
        run::all(entries, &orders, interrupt, Entry::name, |entry| {
            let express = self.is_express(entry.case.rate);
            Ok(entry.round(self.span(entry), express, interrupt))
        })
    }

    fn print_tables(&self, entries: &[Entry]) {
        let mut references = vec!["bare sockets"];
        if self.reference.with_zenoh.is_some() {
            references.push("zenoh");
        }
        let latencies = table::latencies(entries, &references);
        print_lines(format_args!("{}\n\n{latencies}", machine::summary()));
        print_lines(format_args!("{}", self.legend()));
        if let Some(loads) = table::loads(entries) {
            print_lines(format_args!(
                "\nBeside samples of a lower priority that fill the same link\n\n{loads}\n\
                 bound: the p99 alone and one batch of 64 KiB at the rate of the load."
            ));
        }
    }

    fn legend(&self) -> String {
        format!(
            "Medians of {} rounds of {} s or {} messages, fresh programs in each. On a schedule, latency is from when a \
             message was due to when its answer came, so that no delay hides another; in brackets, the share of the wanted \
             rate where it was not reached. CPU: sender / router / receiver; % of one processor. p50 / x: in multiples of \
             x. Messages are sent {}.",
            self.rounds,
            self.seconds.as_secs_f64(),
            self.least,
            self.express,
        )
    }
}

impl Entry {
    /// One round, for so long, with each message sent at once or in batches. What fails is not tried again.
    pub fn round(&mut self, span: Span, express: bool, interrupt: &Interrupt) -> String {
        if self.has_failed {
            return "not tried again".into();
        }
        let contender = self.contender.clone();
        let players = Players {
            contender: &contender,
            case: self.case,
            span,
            express,
        };
        match round::measure(&players, interrupt) {
            Ok(round) => {
                round.add_to(self);
                let micros = |name| self.cell.metrics.get(name)?.rounds.last().copied();
                let [p50, p99] = ["p50", "p99"].map(|name| micros(name).unwrap_or_default());
                format!("p50 {p50:.1} µs, p99 {p99:.1} µs")
            }
            // the signal has ended the programs too
            Err(Trouble::Interrupted) => "interrupted".into(),
            Err(_) if interrupt.happened() => "interrupted".into(),
            Err(trouble) => {
                self.has_failed = true;
                self.cell.fail(trouble.to_string());
                trouble.to_string()
            }
        }
    }

    /// What was wrong with its messages, if anything.
    pub fn fault(&self) -> Option<String> {
        match table::fault_counts(&self.cell) {
            [lost, duplicated, reordered] if lost + duplicated + reordered > 0 => Some(format!(
                "{lost} messages lost, {duplicated} answered twice, {reordered} out of order"
            )),
            _ => None,
        }
    }
}

fn verdict(entries: &[Entry], is_whole: bool) -> Result<(), Failure> {
    let measured = run::verdict(entries.iter().map(|entry| {
        let why = entry.cell.note.as_deref().unwrap_or_default();
        entry.has_failed.then(|| format!("{}: {why}", entry.name()))
    }));
    let mut faulty = 0;
    for entry in entries {
        if let Some(fault) = entry.fault() {
            note(&format!("{}: {fault}", entry.name()));
            faulty += 1;
        }
    }
    measured?;
    match faulty {
        0 => run::whole(is_whole),
        n => Err(Failure::Run(format!(
            "{n} cells with messages lost, doubled or out of order"
        ))),
    }
}
