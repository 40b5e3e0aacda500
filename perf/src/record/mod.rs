// SPDX-License-Identifier: MIT OR Apache-2.0
//! The record that every measurement of systems writes with `--json`, and that `perf compare` and
//! the pages read: the place and the settings of the measurement, and every figure of every round.
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
mod spread;

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::machine;

pub use cell::{Better, Cell, Metric, Pairs, Round, X, is_chosen};
pub use file::is_output;
pub use spread::Spread;

/// The version of the form, raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

/// The results of one run, with its environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The form of the file: the number that this build writes and reads.
    pub schema: u32,
    /// The command that wrote it, such as `thr`.
    pub tool: String,
    /// The whole command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Start of the run, in UTC.
    pub taken_at: String,
    /// Processor, memory, kernel and load before the first measurement.
    pub machine: Value,
    /// Version, profile, compiler, and the commit if the build knew it.
    pub build: Value,
    /// The flags that change the meaning of the figures.
    pub settings: Map<String, Value>,
    /// The figures, one cell for each system, case and x, in the order of the tables.
    pub cells: Vec<Cell>,
    /// Runnable programs over the last 1, 5 and 15 minutes at the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_average_after: Option<Vec<f64>>,
    /// The tool's conclusions, by name.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Record {
    /// Creates an empty record of `tool`, taken now on this machine. Call it before the first
    /// measurement, so that the recorded load is that of other programs.
    pub fn begin(tool: &str, settings: Map<String, Value>) -> Self {
        let mut build = machine::build();
        if let Value::Object(build) = &mut build {
            build.insert("commit".into(), option_env!("ZONDA_COMMIT").into());
        }
        Record {
            schema: SCHEMA,
            tool: tool.to_owned(),
            command: std::env::args().collect(),
            taken_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            machine: machine::machine(),
            build,
            settings,
            cells: Vec::new(),
            load_average_after: None,
            more: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests;
