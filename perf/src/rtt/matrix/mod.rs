// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf rtt matrix`: every backend in every case, in interleaved rounds, as one table like
//! the article's, and as files for further use. The matrix starts `perf rtt` as its programs.

mod arguments;
mod namespaces;
mod plan;
mod plot;
mod rows;
mod stage;
mod table;

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use zonda_program::{Failure, print};

pub use arguments::Matrix;
pub use plot::{Plot, plot};

use super::place;
use crate::campaign::{Campaign, Entry, named};
use crate::page;
use crate::scenario::distinct;
use crate::surroundings::cannot_write;
use stage::Setting;

/// Runs the plan, prints the tables and writes the files.
pub fn matrix(matrix: &Matrix) -> Result<(), Failure> {
    let plan = matrix.plan()?;
    let (json, html) = (matrix.out.join("rtt.json"), matrix.out.join("rtt.html"));
    // an unwritable file fails here and not after minutes of work
    page::reserve(&html)?;
    // plan and measure
    let setting = matrix.setting()?;
    let conditions = place::conditions();
    let campaign = Campaign {
        tool: "rtt",
        settings: settings(matrix, &setting),
        rounds: matrix.rounds,
        json: Some(&json),
        is_list: false,
        keeps_samples: true,
        measure: &|entry, interrupt| setting.measure(entry, interrupt),
    };
    let entries = plan.entries(|case| setting.span(case));
    let Some(mut outcome) = campaign.run(entries)? else {
        return Ok(());
    };
    // tables
    let more = &mut outcome.record.more;
    more.insert("conditions".into(), conditions);
    let tables = table::tables(&outcome.entries, setting.size);
    let (legend, reading) = (legend(matrix, &setting), table::reading());
    outcome.print(&format!("{tables}\n{legend} {reading}"));
    // files
    outcome.record.write(&json)?;
    let csv = write_rows(matrix, &outcome.entries, setting.size)?;
    page::write(&outcome.record, &html)?;
    let folder = matrix.out.display();
    print(format_args!(
        "written: {csv}, rtt.json and rtt.html in {folder}"
    ));
    outcome.finish(None)
}

/// Writes the rows, and returns the names of the files.
fn write_rows(matrix: &Matrix, entries: &[Entry], size: usize) -> Result<String, Failure> {
    if !matrix.format.is_study() {
        write(&matrix.out.join("rtt.csv"), &rows::csv(entries, size))?;
        return Ok("rtt.csv".to_owned());
    }
    let mut names = Vec::new();
    for pacing in distinct(matrix.pacings.iter().copied()) {
        let name = format!("{}/rtt.csv", pacing.name());
        let file = matrix.out.join(&name);
        page::reserve(&file)?;
        write(&file, &rows::of_study(entries, size, pacing, matrix.format))?;
        names.push(name);
    }
    Ok(names.join(", "))
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|e| cannot_write(file, e, "--out DIR"))
}

fn settings(matrix: &Matrix, setting: &Setting) -> Map<String, Value> {
    let pinned = setting
        .cpus
        .map(|(pong, ping)| json!({"pong": pong, "ping": ping}));
    named([
        ("rounds", json!(matrix.rounds)),
        ("seconds", json!(setting.seconds)),
        ("payload", json!(setting.size)),
        ("cpu_work", json!(setting.cpu_work)),
        ("pinned_cpus", json!(pinned)),
        ("congestion", json!(matrix.congestion)),
        ("nice", json!(matrix.nice)),
        ("quirks", json!(matrix.quirks)),
        ("network", json!(network(setting))),
    ])
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
    let processors = match setting.cpus {
        Some((pong, ping)) => format!("pong on processor {pong}, ping on {ping}"),
        None => "not pinned".to_owned(),
    };
    let (rounds, network) = (matrix.rounds, network(setting));
    format!("{rounds} rounds {network}, {processors}; {work}.")
}
