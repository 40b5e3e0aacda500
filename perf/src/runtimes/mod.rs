// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf runtimes`: the whole node on every runtime that is compiled in, beside the raw ping-pong
//! of the same runtime and bare sockets. Programs, cases and cells are those of `perf quick`.

mod advice;
mod plan;
mod record;
mod tables;
mod trips;

use std::time::Duration;

use clap::Args;
use zonda::config::RuntimeKind;
use zonda_program::{Failure, Interrupt, print_lines, seconds};

use super::machine;
use super::process::this_program;
use super::quick::round;
use super::report::Kept;
use super::run::{self, ENDS_EARLY, note, warn_of_surroundings};
use super::system::Span;
use advice::Advice;
use plan::{Entry, entries, order};
use record::{Outcome, record};

/// What a reader of the help tries first, and how to read what comes out.
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
  not told apart   with these rounds, the difference may well be chance (p >= 0.05)";

/// Options of `perf runtimes`.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Runtimes {
    /// Measure each cell this often; the tables show the median and the range. To tell six runtimes
    /// apart takes 5
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=50))]
    pub rounds: u32,
    /// Measure for this long in each round, after a warm-up of half of it
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    pub seconds: Duration,
    /// Only cells whose name has all of these words, such as "throughput routed 8B", "p2p 1kHz" or
    /// "callback raw" (repeatable)
    #[arg(long, value_name = "WORDS")]
    pub only: Vec<String>,
    /// Only these runtimes, such as tokio,smol [default: all that are compiled in]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub runtimes: Vec<RuntimeKind>,
    #[command(flatten)]
    pub kept: Kept,
}

/// A runtime that the system refuses.
pub struct LeftOut {
    kind: RuntimeKind,
    why: String,
}

impl Runtimes {
    /// Recording time and the warm-up before it.
    fn span(&self) -> Span {
        Span::after_half(self.seconds)
    }

    /// The runtimes to measure, each once, and those that do not start here.
    fn kinds(&self) -> (Vec<RuntimeKind>, Vec<LeftOut>) {
        let named = match self.runtimes.is_empty() {
            true => RuntimeKind::available().collect(),
            false => self.runtimes.clone(),
        };
        let (mut kinds, mut left_out) = (Vec::new(), Vec::new());
        for kind in named {
            if kinds.contains(&kind) {
                continue;
            }
            match refusal(kind) {
                None => kinds.push(kind),
                Some(why) => left_out.push(LeftOut { kind, why }),
            }
        }
        (kinds, left_out)
    }

    /// Measures, prints the tables and writes the file.
    pub fn run(&self) -> Result<(), Failure> {
        let (kinds, left_out) = self.kinds();
        for LeftOut { kind, why } in &left_out {
            note(&format!("{kind} is left out: {why}"));
        }
        if kinds.is_empty() {
            return Err(Failure::Run("no runtime is left to measure".into()));
        }
        let mut entries = entries(&kinds, &self.only);
        if entries.is_empty() {
            let text = format!(
                "--only {:?}: no such cell, try \"8B p2p\" or \"callback\"",
                self.only
            );
            return Err(Failure::Usage(text));
        }
        self.kept.reserve()?;
        let interrupt = run::interrupt()?;
        let before = machine::machine();
        warn_of_surroundings();
        self.tell_length(entries.len());
        let is_whole = self.measure(&mut entries, &interrupt)?;
        let advice = advice::advice(&entries);
        print_lines(format_args!(
            "{}\n\n{}",
            machine::summary(),
            tables::tables(&entries, &advice)
        ));
        print_lines(format_args!("{}", self.legend(&advice)));
        self.kept.write(|| {
            let outcome = Outcome {
                entries: &entries,
                advice: &advice,
                left_out: &left_out,
                is_whole,
            };
            format!("{}\n", record(self, &before, &outcome))
        })?;
        run::verdict(entries.iter().map(|entry| {
            let trouble = entry.cell.trouble.as_ref()?;
            Some(format!("{}: {trouble}", entry.name()))
        }))?;
        run::whole(is_whole)
    }

    fn tell_length(&self, cells: usize) {
        /// For starting and ending the programs.
        const AROUND: f64 = 0.2;
        let Span { warm_up, seconds } = self.span();
        let minutes = (warm_up + seconds + AROUND) * cells as f64 * f64::from(self.rounds) / 60.0;
        note(&format!(
            "{cells} cells in {}, about {} min; {ENDS_EARLY}",
            times(self.rounds),
            minutes.ceil()
        ));
    }

    /// All rounds; false if the user ended them early.
    fn measure(&self, entries: &mut [Entry], interrupt: &Interrupt) -> Result<bool, Failure> {
        let executable = this_program()?;
        let turns = 0..self.rounds as usize;
        let orders: Vec<_> = turns.map(|turn| order(entries, turn)).collect();
        let span = self.span();
        run::all(entries, &orders, interrupt, Entry::name, |entry| {
            let had_trouble = entry.cell.trouble.is_some();
            let system = entry.contender.system(&executable);
            let outcome = round(&system, &mut entry.cell, span, interrupt);
            if interrupt.happened() {
                // the signal has ended the programs too
                entry.cell.trouble.take_if(|_| !had_trouble);
            }
            outcome
        })
    }

    fn legend(&self, advice: &[Advice]) -> String {
        let mut text = format!(
            "{} of {} s each, interleaved, not pinned to processors. Figures: median of the \
             rounds; p99.9: of all round trips together. x raw, x bare: p50 in multiples of the yardstick's.\n\
             Score: geometric mean over the cases in question (latency: callback; CPU: all but 1 kHz). \
             Told apart: the exact rank test of Mann and Whitney on the scores of the rounds, corrected \
             after Holm, gives p < {}.",
            times(self.rounds),
            self.seconds.as_secs_f64(),
            advice::LEVEL,
        );
        let needed = advice.iter().filter_map(Advice::rounds_needed).max();
        if let Some(needed) = needed {
            text += &format!(
                "\nThese rounds are too few to tell so many runtimes apart, whatever they show: \
                 --rounds {needed} is the least."
            );
        }
        text
    }
}

/// So many rounds.
fn times(rounds: u32) -> String {
    match rounds {
        1 => "1 round".to_owned(),
        n => format!("{n} rounds"),
    }
}

/// Why a runtime does not start here; `None` if it does.
fn refusal(kind: RuntimeKind) -> Option<String> {
    match kind.effective() {
        Ok((_, why)) => why,
        Err(error) => Some(error.to_string()),
    }
}
