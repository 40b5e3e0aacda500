// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tables, the page and the CSV file are made of.

use std::fmt::Write;

use super::plan::Plan;
use super::summary::{Summary, summary};
use crate::record::Cell;
use crate::rtt::csv;
use crate::scenario::raw::Raw;

/// What one framework showed in one case.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The column.
    pub framework: &'static str,
    /// The rest.
    pub case: Raw,
    /// Its rounds.
    pub cell: Cell,
}

/// All of it.
pub struct Report {
    /// Rows and columns.
    pub plan: Plan,
    /// In the order of the columns.
    pub cells: Vec<Measured>,
    /// Bytes of a message.
    pub size: usize,
    /// What is known of where and how it was measured.
    pub facts: Vec<(&'static str, String)>,
    /// How to read the tables.
    pub legend: String,
}

impl Report {
    /// The figures of one framework in the case that `is_it` knows, if it has any.
    pub fn summary(&self, framework: &str, is_it: impl Fn(&Raw) -> bool) -> Option<Summary> {
        let mut cells = self.cells.iter();
        let found = cells.find(|m| m.framework == framework && is_it(&m.case))?;
        summary(&found.cell)
    }

    /// The rows of the studies: one for each time that occurred, with how often; then the rate and the losses of each round.
    pub fn csv(&self) -> String {
        let mut text = format!("{}\n", csv::HEADER);
        for Measured {
            framework,
            case,
            cell,
        } in &self.cells
        {
            let pacing = case.pacing.name();
            let transport = match *framework {
                super::plan::ECHO => framework,
                _ => case.transport.name(),
            };
            let mut add = |test: &str, count: u64, value: f64, unit: &str| {
                let row = csv::Row {
                    framework,
                    transport,
                    test: &format!("{test}-{pacing}"),
                    count,
                    rate: case.rate.hertz(),
                    payload: self.size,
                    tasks: case.tasks,
                    value,
                    unit,
                };
                writeln!(text, "{row}").expect("a string takes everything");
            };
            for (round, pairs) in cell.nanos_times.iter().enumerate() {
                let figure = |metric| cell.rounds(metric).get(round).copied().unwrap_or(0.0);
                for (nanos, times) in pairs {
                    add("rtt", *times, *nanos as f64, "ns");
                }
                let (sent, lost) = (figure("sent"), figure("lost"));
                add(
                    "throughput",
                    (sent - lost).max(0.0) as u64,
                    figure("rate"),
                    "1/s",
                );
                add("lost", sent as u64, lost, "messages");
            }
        }
        text
    }
}
