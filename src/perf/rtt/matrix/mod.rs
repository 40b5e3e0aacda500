// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf rtt matrix`: every backend in every case, in interleaved rounds, as one table like the
//! article's, and as files to go on with. The programs it starts are `perf rtt` itself.

mod arguments;
mod cell;
mod namespaces;
mod page;
mod plan;
mod rate;
mod record;
mod stage;
mod table;

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

pub use arguments::Matrix;

use super::place;
use crate::arguments::{Failure, Interrupt, print};
use crate::perf::machine;
use crate::perf::progress::Progress;
use crate::perf::quick::{note, warn_of_surroundings};
use crate::perf::table::short;
use crate::perf::trouble::Trouble;
use cell::{Cell, Round};
use plan::Plan;
use stage::Setting;

/// Everything that the tables, the files and the page are made of.
pub struct Report<'a> {
    /// What was asked for.
    pub matrix: &'a Matrix,
    /// What was planned.
    pub plan: &'a Plan,
    /// What all cells had in common.
    pub setting: &'a Setting,
    /// The machine before the first measurement.
    pub machine: Value,
    /// What might have bent the figures, before the first measurement.
    pub conditions: Value,
    /// In the order of the plan's first round.
    pub cells: Vec<Cell>,
    /// Whether all rounds were made.
    pub is_whole: bool,
}

/// Runs the plan, prints the tables and writes the files.
pub fn matrix(matrix: &Matrix) -> Result<(), Failure> {
    let interrupt = Interrupt::listen().map_err(|e| Failure::doing("catching Ctrl-C", e))?;
    let plan = matrix.plan()?;
    // better now than after minutes of work
    fs::create_dir_all(&matrix.out).map_err(|e| cannot_write(&matrix.out, &e))?;
    record::try_out(&matrix.out)?;
    let setting = matrix.setting()?;
    warn_of_surroundings();
    let mut report = Report {
        matrix,
        plan: &plan,
        setting: &setting,
        machine: machine::machine(),
        conditions: place::conditions(),
        cells: Vec::new(),
        is_whole: false,
    };
    report.cells = empty(&plan);
    tell_length(matrix, &plan, &setting);
    report.is_whole = run(&mut report, &interrupt)?;
    print(format_args!("{}", machine::summary()));
    print(format_args!("{}", table::tables(&report)));
    record::write(&report)?;
    page::write(&report)?;
    print(format_args!(
        "written: rtt.csv, rtt.json and rtt.html in {}",
        matrix.out.display()
    ));
    verdict(&report)
}

fn empty(plan: &Plan) -> Vec<Cell> {
    let mut keys = plan.round(0);
    keys.sort_by_key(|key| plan.frameworks.iter().position(|f| *f == key.framework));
    let cell = |key| Cell {
        key,
        rounds: Vec::new(),
        trouble: None,
    };
    keys.into_iter().map(cell).collect()
}

fn tell_length(matrix: &Matrix, plan: &Plan, setting: &Setting) {
    /// For starting and ending the programs, and the warm-up.
    const AROUND: f64 = 0.25;
    let round: f64 = plan
        .round(0)
        .iter()
        .map(|k| setting.seconds(k) + AROUND)
        .sum();
    let minutes = round * f64::from(matrix.rounds) / 60.0;
    note(&format!(
        "{} cells in {} rounds, about {} minutes; Ctrl-C ends it early and keeps what there is",
        plan.round(0).len(),
        matrix.rounds,
        minutes.ceil()
    ));
}

/// All rounds; false if the user ended them early.
fn run(report: &mut Report<'_>, interrupt: &Interrupt) -> Result<bool, Failure> {
    let rounds = report.matrix.rounds as usize;
    let mut progress = Progress::new(rounds * report.cells.len());
    for turn in 0..rounds {
        for key in report.plan.round(turn) {
            let Some(cell) = report.cells.iter_mut().find(|c| c.key == key) else {
                continue;
            };
            let what = key.to_string();
            progress.begin(&what);
            match one(report.setting, cell, interrupt) {
                Some(outcome) => progress.step(&what, &outcome),
                None => return Ok(false),
            }
        }
    }
    Ok(true)
}

/// One round of one cell, and what to say of it; `None` if the user wants an end. A cell in trouble is
/// not tried again.
fn one(setting: &Setting, cell: &mut Cell, interrupt: &Interrupt) -> Option<String> {
    if cell.trouble.is_some() {
        return Some("not tried again".into());
    }
    match setting.measure(&cell.key, interrupt) {
        Ok((outcome, others)) => {
            let text = format!(
                "p50 {:.1} µs, achieved {}/s",
                outcome.micros(50.0),
                short(outcome.achieved)
            );
            cell.rounds.push(Round::of(&outcome, others));
            Some(text)
        }
        // Ctrl-C reaches the programs too
        Err(_) if interrupt.happened() => None,
        Err(Trouble::Interrupted) => None,
        Err(trouble) => {
            let text = trouble.to_string();
            cell.trouble = Some(text.clone());
            Some(text)
        }
    }
}

fn verdict(report: &Report<'_>) -> Result<(), Failure> {
    let mut failed = 0;
    for cell in &report.cells {
        if let Some(trouble) = &cell.trouble {
            note(&format!("{}: {trouble}", cell.key));
            failed += 1;
        }
    }
    match failed {
        0 if report.is_whole => Ok(()),
        0 => Err(Failure::Run("interrupted: only a part was measured".into())),
        n => Err(Failure::Run(format!(
            "{n} of {} cells could not be measured",
            report.cells.len()
        ))),
    }
}

fn cannot_write(file: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!(
        "cannot write {}: {error}; --out DIR writes elsewhere",
        file.display()
    ))
}
