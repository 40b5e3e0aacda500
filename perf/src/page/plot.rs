// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf plot`: the page of an existing record.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use clap::Args;
use zonda_program::{Failure, print};

use super::export;
use super::record::page;
use crate::record::Record;
use crate::surroundings::cannot_write;

/// Options of `perf plot`.
#[derive(Args, Clone, Debug)]
pub struct Plot {
    /// Record: the file that --json of a measurement wrote, curves.json or rtt.json
    #[arg(value_name = "FILE.json")]
    pub record: PathBuf,
    /// File of the page [default: beside the record, with .html at its end]
    #[arg(short, long, value_name = "FILE.html")]
    pub output: Option<PathBuf>,
    /// Write each figure to this directory, too, as SVG
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
}

/// Reads the record and writes the page.
pub fn plot(plot: &Plot) -> Result<(), Failure> {
    let record = Record::read(&plot.record)?;
    if record.cells.iter().all(|cell| cell.metrics.is_empty()) {
        return Err(Failure::Run(format!(
            "{} holds no figures",
            plot.record.display()
        )));
    }
    let beside = || plot.record.with_extension("html");
    let output = plot.output.clone().unwrap_or_else(beside);
    write(&record, &output)?;
    print(format_args!("written: {}", output.display()));
    match &plot.svg {
        Some(folder) => write_figures(&record, folder),
        None => Ok(()),
    }
}

fn write_figures(record: &Record, folder: &Path) -> Result<(), Failure> {
    let wrong = |error| cannot_write(folder, error, "--svg DIR");
    fs::create_dir_all(folder).map_err(wrong)?;
    for (name, figure) in export::figures(&page(record)) {
        let file = folder.join(name);
        fs::write(&file, figure).map_err(|error| cannot_write(&file, error, "--svg DIR"))?;
        print(format_args!("written: {}", file.display()));
    }
    Ok(())
}

/// Checks that the page can be written, and creates its folder: before the measurement and not
/// after it.
pub fn reserve(output: &Path) -> Result<(), Failure> {
    let folder = output.parent().unwrap_or(output);
    let opened = fs::create_dir_all(folder)
        .and_then(|()| OpenOptions::new().create(true).append(true).open(output));
    let opened = opened.map_err(|error| cannot_write(output, error, "--out DIR"));
    opened.map(drop)
}

/// Writes the page of a record.
pub fn write(record: &Record, output: &Path) -> Result<(), Failure> {
    fs::write(output, page(record)).map_err(|error| cannot_write(output, error, "-o FILE.html"))
}
