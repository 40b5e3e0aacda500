// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `perf thr`, `lat`, `scale` and `curves` write with `--json`, and what `perf compare` and the
//! pages read: where and how was measured, and every figure of every round.
//!
//! ```text
//! { "schema": 1, "tool": "thr", "taken_at": "2026-01-31T12:00:00Z", "machine": {..}, "build": {..},
//!   "settings": {"rounds": 5, "seconds": 1.0, ..},
//!   "cells": [ { "system": "zonda", "case": "p2p", "x": {"name": "size", "unit": "B", "value": 8},
//!                "metrics": {"rate": {"unit": "msg/s", "better": "higher", "rounds": [..]}, ..},
//!                "note": null } ] }
//! ```
//!
//! Medians, spreads and tests are for readers to compute: only the rounds are kept.

mod cell;
mod file;
mod time;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use zonda::config::RuntimeKind;

use super::machine;
use super::system::Span;

pub use cell::{Better, Cell, Metric, X};
pub use file::RecordError;

/// Raised when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// Everything one run measured, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The form of the file, [`SCHEMA`].
    pub schema: u32,
    /// The command that wrote it, such as `thr`.
    pub tool: String,
    /// When the run began, in UTC.
    pub taken_at: String,
    /// Processor, memory, kernel and load before the first measurement.
    pub machine: Value,
    /// Version, profile, compiler, and the commit if the build knew it.
    pub build: Value,
    /// The flags that change what the figures mean.
    pub settings: Map<String, Value>,
    /// The figures, one cell for each system, case and x, in the order of the tables.
    pub cells: Vec<Cell>,
}

impl Record {
    /// An empty record of `tool`, taken now on this machine. Make it before the first measurement, so
    /// that the load in it is that of the others.
    pub fn begin(tool: &str, settings: Map<String, Value>) -> Self {
        let mut build = machine::build();
        if let Value::Object(build) = &mut build {
            build.insert("commit".into(), option_env!("ZONDA_COMMIT").into());
        }
        Record {
            schema: SCHEMA,
            tool: tool.to_owned(),
            taken_at: time::now(),
            machine: machine::machine(),
            build,
            settings,
            cells: Vec::new(),
        }
    }

    /// The cell of another system in the same case and at the same x.
    pub fn beside(&self, cell: &Cell, system: &str) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|other| other.system == system && other.case == cell.case && other.x == cell.x)
    }
}

/// The settings of what is measured so often and so long on one runtime.
pub fn settings(rounds: u32, span: Span, runtime: Option<RuntimeKind>) -> Map<String, Value> {
    let settings = [
        ("rounds", json!(rounds)),
        ("seconds", json!(span.seconds)),
        ("warm_up", json!(span.warm_up)),
        ("runtime", json!(runtime.unwrap_or_default().name())),
    ];
    settings
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests;
