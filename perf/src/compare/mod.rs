// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf compare`: the significant differences between two records. Records that do not
//! measure the same on the same machine are refused.

mod comparable;
mod difference;
mod table;

use std::fs;
use std::path::PathBuf;

use clap::Args;
use zonda_program::{Failure, print_lines};

use super::record::Record;
use super::surroundings::note;
use difference::{Choice, Comparison};

/// Examples in the help, and the meaning of the table.
const HELP: &str = "\
Examples:
  zonda perf compare before.json after.json
  zonda perf compare before.json after.json --metrics rate,cpu_sender    fewer questions, surer answers
  zonda perf compare before.json after.json --only 'zonda p2p 8'

How to read it:
  p          the probability that rounds that do not differ would fall so far apart: the exact rank test
             of Mann and Whitney, two-sided, corrected after Holm for asking so many times;
             of more than 50 rounds it looks at the first 50
  better, worse   p is below the level (0.05 by default)

Bare sockets and zenoh are yardsticks: if they have changed, so has the machine, and they never make the exit code 1.";

/// Options of `perf compare`.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Compare {
    /// The record to compare with
    #[arg(value_name = "A.json")]
    pub before: PathBuf,
    /// The record that may be better or worse
    #[arg(value_name = "B.json")]
    pub after: PathBuf,
    /// Only these metrics, such as rate,cpu_sender [default: all that can be better or worse]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Only cells whose name has all of these words, such as "zonda p2p" (repeatable)
    #[arg(long, value_name = "WORDS")]
    pub only: Vec<String>,
    /// Level of significance
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = level)]
    pub level: f64,
    /// Compare what is not comparable, too
    #[arg(long)]
    pub force: bool,
    /// Print what does not differ, too
    #[arg(long)]
    pub all: bool,
    /// Print what differs, which is done anyway: scripts of earlier versions have this flag
    #[arg(long, hide = true, conflicts_with = "all")]
    pub changes: bool,
}

fn level(text: &str) -> Result<f64, String> {
    let level = text.parse().ok();
    let level = level.filter(|level| 0.0 < *level && *level < 1.0);
    level.ok_or_else(|| "expected a probability between 0 and 1".into())
}

impl Compare {
    /// Reads both records, compares them and prints the table; fails if a figure has become worse.
    pub fn run(&self) -> Result<(), Failure> {
        let (before, after) = (self.read(&self.before)?, self.read(&self.after)?);
        let reasons = comparable::differences(&before, &after);
        // records that are not comparable need --force
        if !reasons.is_empty() {
            let text = format!("these records cannot be compared: {}", reasons.join("; "));
            if !self.force {
                return Err(Failure::Run(format!(
                    "{text}; --force does it all the same"
                )));
            }
            note(&text);
        }
        // compare
        let choice = Choice {
            metrics: &self.metrics,
            only: &self.only,
            level: self.level,
        };
        let comparison = Comparison::of(&before, &after, &choice);
        if comparison.is_empty() {
            return Err(Failure::Run(
                "the records have nothing in common to compare".into(),
            ));
        }
        // table and notes
        if let Some(table) = table::table(&comparison, self.all) {
            print_lines(format_args!("{table}"));
        }
        print_lines(format_args!("{}", table::summary(&comparison)));
        for text in comparison.notes() {
            note(&text);
        }
        // the exit code
        match comparison.worse() {
            0 => Ok(()),
            1 => Err(Failure::Run("1 figure is worse".to_owned())),
            worse => Err(Failure::Run(format!("{worse} figures are worse"))),
        }
    }

    fn read(&self, file: &std::path::Path) -> Result<Record, Failure> {
        let text = fs::read_to_string(file)
            .map_err(|e| Failure::Usage(format!("cannot read {}: {e}", file.display())))?;
        Record::parse(&text, file)
    }
}

#[cfg(test)]
mod tests;
