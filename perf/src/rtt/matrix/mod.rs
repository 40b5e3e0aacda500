// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf rtt matrix`: every backend in every case, in interleaved rounds, as one table like the
//! article's, and as files to go on with. The programs it starts are `perf rtt` itself.

mod arguments;
mod cell;
mod namespaces;
mod page;
mod plan;
mod plot;
mod rate;
mod record;
mod stage;
mod table;

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;
use zonda_program::{Failure, Interrupt, print, print_lines};

pub use arguments::Matrix;
pub use plot::{Plot, plot};

use super::place;
use crate::cell_error::CellError;
use crate::machine;
use crate::numbers::short;
use crate::progress::Progress;
use crate::surroundings::{self, ENDS_EARLY, interrupt, note, warn_of_surroundings};
use cell::{Cell, Round};
use plan::Plan;
use stage::Setting;

/// What the tables and the page are made of.
pub struct Report {
    /// Rows and columns.
    pub plan: Plan,
    /// In the order of the columns.
    pub cells: Vec<Cell>,
    /// Bytes of a message.
    pub size: usize,
    /// What is known of where and how it was measured.
    pub facts: Vec<(&'static str, String)>,
    /// How to read the tables.
    pub legend: String,
}

/// Runs the plan, prints the tables and writes the files.
pub fn matrix(matrix: &Matrix) -> Result<(), Failure> {
    let interrupt = interrupt()?;
    let plan = matrix.plan()?;
    // better now than after minutes of work
    try_out(&matrix.out)?;
    let setting = matrix.setting()?;
    warn_of_surroundings();
    let before = Surroundings {
        machine: machine::machine(),
        conditions: place::conditions(),
    };
    tell_length(matrix, &plan, &setting);
    let mut cells = empty(&plan);
    let is_whole = run(
        matrix.rounds as usize,
        &plan,
        &setting,
        &mut cells,
        &interrupt,
    );
    let report = Report {
        cells,
        size: setting.size,
        facts: facts(&before, &setting),
        legend: legend(matrix, &setting),
        plan,
    };
    print(format_args!("{}", machine::summary()));
    print_lines(format_args!("{}", table::tables(&report)));
    let whole = record::whole(&report, matrix, &setting, &before, is_whole);
    write(&matrix.out, "rtt.csv", &record::rows(&report))?;
    write(&matrix.out, "rtt.json", &format!("{whole:#}\n"))?;
    write(&matrix.out, "rtt.html", &page::page(&report))?;
    print(format_args!(
        "written: rtt.csv, rtt.json and rtt.html in {}",
        matrix.out.display()
    ));
    verdict(&report.cells, is_whole)
}

fn verdict(cells: &[Cell], is_whole: bool) -> Result<(), Failure> {
    let mut failed = 0;
    for cell in cells {
        if let Some(trouble) = &cell.trouble {
            note(&format!("{}: {trouble}", cell.key));
            failed += 1;
        }
    }
    let all = cells.len();
    match (failed, is_whole) {
        (0, true) => Ok(()),
        (0, false) => Err(Failure::Run("interrupted: only a part was measured".into())),
        _ => Err(Failure::Run(format!(
            "{failed} of {all} cells could not be measured"
        ))),
    }
}

/// The machine before the first measurement.
pub struct Surroundings {
    /// Processor, memory, kernel and load.
    machine: Value,
    /// What might bend the figures.
    conditions: Value,
}

fn facts(before: &Surroundings, setting: &Setting) -> Vec<(&'static str, String)> {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let build = machine::build();
    vec![
        ("command", format!("zonda {}", command.join(" "))),
        ("machine", machine::summary()),
        ("load before", known(&before.machine["load_average"])),
        ("governor", known(&before.conditions["governor"])),
        (
            "waiting for a processor, %",
            known(&before.conditions["cpu_pressure_percent"]),
        ),
        ("compiler", known(&build["rustc"])),
        ("profile", known(&build["profile"])),
        ("messages", format!("{} bytes", setting.size)),
        ("network", network(setting).to_owned()),
        ("processors", processors(setting)),
    ]
}

fn known(value: &Value) -> String {
    match value {
        Value::Null => "not known".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn processors(setting: &Setting) -> String {
    match setting.cpus {
        Some((pong, ping)) => format!("pong on processor {pong}, ping on {ping}"),
        None => "not pinned".to_owned(),
    }
}

fn network(setting: &Setting) -> &'static str {
    match setting.namespaces {
        Some(_) => "between two network namespaces",
        None => "over loopback",
    }
}

fn legend(matrix: &Matrix, setting: &Setting) -> String {
    let work = match setting.cpu_work {
        Some(share) => format!("tasks compute on {share} of a processor"),
        None => "tasks multiply once a millisecond".to_owned(),
    };
    format!(
        "{} rounds {}, {}; {work}.",
        matrix.rounds,
        network(setting),
        processors(setting)
    )
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
        "{} cells in {} rounds, about {} minutes; {ENDS_EARLY}",
        plan.round(0).len(),
        matrix.rounds,
        minutes.ceil()
    ));
}

/// All rounds; false if the user ended them early.
fn run(
    rounds: usize,
    plan: &Plan,
    setting: &Setting,
    cells: &mut [Cell],
    interrupt: &Interrupt,
) -> bool {
    let mut progress = Progress::new(rounds * cells.len());
    for turn in 0..rounds {
        for key in plan.round(turn) {
            let Some(cell) = cells.iter_mut().find(|c| c.key == key) else {
                continue;
            };
            let what = key.to_string();
            progress.begin(&what);
            match one(setting, cell, interrupt) {
                Some(outcome) => progress.step(&what, &outcome),
                None => return false,
            }
        }
    }
    true
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
        Err(CellError::Interrupted) => None,
        Err(trouble) => {
            let text = trouble.to_string();
            cell.trouble = Some(text.clone());
            Some(text)
        }
    }
}

/// Whether files can be written to a folder, which is made.
fn try_out(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
    let file = folder.join("rtt.html");
    let opened = fs::OpenOptions::new().create(true).append(true).open(&file);
    opened.map(|_| ()).map_err(|e| cannot_write(&file, &e))
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let file = folder.join(name);
    fs::write(&file, text).map_err(|e| cannot_write(&file, &e))
}

fn cannot_write(file: &Path, error: &io::Error) -> Failure {
    surroundings::cannot_write(file, error, "--out DIR")
}
