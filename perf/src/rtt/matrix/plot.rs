// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf rtt plot`: tables and page from existing rows, written one by one with `--csv` or by
//! the matrix.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use zonda_program::{Failure, print, print_lines};

use super::plan::ECHO;
use super::rows::Reader;
use super::table;
use crate::campaign::{Entry, named};
use crate::page;
use crate::record::Record;
use crate::rtt::backend::Backend;
use crate::rtt::csv::Format;
use crate::scenario::raw::Pacing;
use crate::surroundings::note;

/// Options of the plot.
#[derive(Args, Clone, Debug)]
pub struct Plot {
    /// Files with rows framework,transport,test,count,rate,payload,tasks,value,unit
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only rows with messages of this size [default: that of the first row]
    #[arg(long, value_name = "BYTES")]
    size: Option<usize>,
    /// Format of the rows
    #[arg(long, value_enum, default_value = "zonda")]
    format: Format,
    /// The pacing of rows that do not say theirs, as those of --csv
    #[arg(long, value_enum, default_value = "exact")]
    pacing: Pacing,
    /// Folder for rtt.html
    #[arg(long, value_name = "DIR", default_value = "zonda-rtt")]
    out: PathBuf,
}

/// Reads the files, prints the tables and writes the page.
pub fn plot(plot: &Plot) -> Result<(), Failure> {
    let mut reader = Reader {
        format: plot.format,
        pacing: plot.pacing,
        size: plot.size,
        entries: Vec::new(),
    };
    // read the rows
    for file in &plot.files {
        let text = fs::read_to_string(file)
            .map_err(|e| Failure::Run(format!("cannot read {}: {e}", file.display())))?;
        if !plot.format.is_study() && !text.contains(",lost") {
            note(
                "these rows tell no losses, as those of a study: --format eval2022 reads intervals in seconds",
            );
        }
        reader.read(file, &text)?;
    }
    let (mut entries, size) = (reader.entries, reader.size.unwrap_or_default());
    if entries.is_empty() {
        let text = "no round trips in these files; --csv of perf rtt writes some";
        return Err(Failure::Run(text.into()));
    }
    // tables
    let html = plot.out.join("rtt.html");
    page::reserve(&html)?;
    entries.sort_by(in_order);
    let tables = table::tables(&entries, size);
    let names: Vec<String> = plot.files.iter().map(|f| f.display().to_string()).collect();
    let names = names.join(", ");
    let reading = table::reading();
    print_lines(format_args!("{tables}\nFrom {names}. {reading}"));
    // the page
    let settings = named([("files", json!(names)), ("payload", json!(size))]);
    let record = Record {
        // the files do not contain the machine of the measurement
        machine: Value::Null,
        build: Value::Null,
        cells: entries.into_iter().map(|entry| entry.cell).collect(),
        ..Record::begin("rtt", settings)
    };
    page::write(&record, &html)?;
    print(format_args!("written: rtt.html in {}", plot.out.display()));
    Ok(())
}

/// Compares two entries by the order of the tables.
fn in_order(a: &Entry, b: &Entry) -> std::cmp::Ordering {
    let (Some(case), Some(other)) = (a.scenario.raw(), b.scenario.raw()) else {
        return std::cmp::Ordering::Equal;
    };
    let column = |entry: &Entry| {
        let mut known = Backend::ALL.map(Backend::name).into_iter().chain([ECHO]);
        known.position(|name| name == entry.system.name)
    };
    let table = (case.transport, case.pacing, case.tasks);
    table
        .cmp(&(other.transport, other.pacing, other.tasks))
        .then(case.rate.order(&other.rate))
        .then(column(a).cmp(&column(b)))
}
