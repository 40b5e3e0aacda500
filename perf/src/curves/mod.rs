// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf curves`: throughput over the size of messages and latency over their rate, peer to peer and routed, each
//! by a session and by the node below it, beside bare sockets and the reference. What is measured is what `perf thr` and
//! `perf lat` measure; here it becomes curves.

mod cell;
mod options;
mod table;

use std::fs;
use std::path::Path;

use zonda_program::{Failure, Interrupt, print, print_lines};

use super::record::Record;
use super::run::{self, ENDS_EARLY, note, warn_of_surroundings};
use super::{machine, page};
use cell::Part;

pub use options::Curves;

impl Curves {
    /// Measures, prints the table and writes the record and the page.
    pub fn run(&self) -> Result<(), Failure> {
        let mut parts = self.parts()?;
        if self.list {
            for part in &parts {
                print(format_args!("{} ({:.1} s)", part.name(), part.seconds()));
            }
            print_lines(format_args!("{}", self.length(&parts)));
            return Ok(());
        }
        let (json, html) = self.reserve()?;
        let interrupt = run::interrupt()?;
        let mut record = Record::begin("curves", self.settings());
        warn_of_surroundings();
        note(&format!("{}; {ENDS_EARLY}", self.length(&parts)));
        let is_whole = self.measure(&mut parts, &interrupt)?;
        record.cells = parts.iter().map(Part::cell).collect();
        print_lines(format_args!(
            "{}\n{}\n{}",
            machine::summary(),
            table::table(&record),
            table::LEGEND
        ));
        record.write(&json)?;
        page::write(&record, &html)?;
        print(format_args!(
            "written: {} and {}",
            json.display(),
            html.display()
        ));
        verdict(&parts, is_whole)
    }

    /// Finds out that the files can be written, before the work and not after it.
    fn reserve(&self) -> Result<(std::path::PathBuf, std::path::PathBuf), Failure> {
        fs::create_dir_all(&self.out).map_err(|e| cannot_write(&self.out, &e))?;
        let (json, html) = (self.out.join("curves.json"), self.out.join("curves.html"));
        Record::reserve(&json)?;
        fs::write(&html, "").map_err(|e| cannot_write(&html, &e))?;
        Ok((json, html))
    }

    fn length(&self, parts: &[Part]) -> String {
        let round: f64 = parts.iter().map(Part::seconds).sum();
        run::length(parts.len(), self.rounds(), round)
    }

    /// All rounds; false if the user ended them early. In each, systems follow each other in every case, another one
    /// first each time, so that what disturbs the machine disturbs all of them alike.
    fn measure(&self, parts: &mut [Part], interrupt: &Interrupt) -> Result<bool, Failure> {
        let turns = 0..self.rounds() as usize;
        let orders: Vec<_> = turns.map(|turn| cell::order(parts, turn)).collect();
        run::all(parts, &orders, interrupt, Part::name, |part| {
            part.round(interrupt)
        })
    }
}

fn cannot_write(file: &Path, error: &std::io::Error) -> Failure {
    run::cannot_write(file, error, "--out DIR")
}

fn verdict(parts: &[Part], is_whole: bool) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for part in parts {
        if let Some(trouble) = part.trouble() {
            let text = format!("{}: {trouble}", part.name());
            note(&text);
            wrong.push(text);
        }
    }
    match (wrong.first(), is_whole) {
        (Some(first), _) => Err(Failure::Run(format!(
            "{} of {} cells went wrong: {first}",
            wrong.len(),
            parts.len()
        ))),
        (None, false) => Err(Failure::Run("interrupted: not all rounds were made".into())),
        (None, true) => Ok(()),
    }
}
