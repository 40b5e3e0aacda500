// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `--json` file: everything that is in the table, everything it was made of, and where.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::{Map, Value, json};
use zonda_program::Failure;

use super::footprint::Cost;
use super::machine;
use super::quick::Quick;
use super::result::{Cell, Round, Spread, beside};
use super::round_trips::pairs;

/// Raised when a field changes its meaning or goes away.
const FORMAT: u32 = 1;

/// The whole report. `before` is the machine's state before the first measurement.
pub fn report(options: &Quick, before: &Value, cells: &[Cell]) -> Value {
    let mut report = head(FORMAT, before);
    report["configuration"] = json!({
        "rounds": options.rounds,
        "seconds": options.seconds.as_secs_f64(),
        "warm_up_seconds": options.span().warm_up,
        "runtime": options.runtime.as_deref().unwrap_or("default"),
        "link": options.link.name(),
        "with_zenoh": options.reference.with_zenoh,
        "only": options.only,
        "pinned_cpus": null,
        "address": "127.0.0.1",
    });
    report["cells"] = cells.iter().map(|c| cell(cells, c)).collect();
    report
}

/// How and when a report was made, and where: on the machine whose state was `before` when the measurements began.
pub fn head(format: u32, before: &Value) -> Value {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    json!({
        "format": format,
        "unix_time": now.as_secs(),
        "command": std::env::args().collect::<Vec<_>>(),
        "machine": before,
        "load_average_after": machine::load_average(),
        "build": machine::build(),
    })
}

/// Whether the report is kept.
#[derive(Args, Clone, Debug)]
pub struct Kept {
    /// Write everything that was measured, and where, to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Kept {
    /// Finds out that the file can be written, before minutes of work and not after them.
    pub fn reserve(&self) -> Result<(), Failure> {
        self.write(String::new)
    }

    /// Writes this text to the file, if there is to be one.
    pub fn write(&self, text: impl FnOnce() -> String) -> Result<(), Failure> {
        let Some(file) = &self.json else {
            return Ok(());
        };
        let written = fs::write(file, text());
        written.map_err(|e| Failure::Run(format!("cannot write {}: {e}", file.display())))
    }
}

/// Everything about one cell, with its ratios to those beside it.
pub fn cell(all: &[Cell], cell: &Cell) -> Value {
    let micros: Map<String, Value> = cell
        .micros()
        .into_iter()
        .map(|(name, s)| (name.into(), spread(s)))
        .collect();
    let cpu: Map<String, Value> = cell
        .cpu()
        .into_iter()
        .map(|(role, ns)| (role.into(), json!(ns)))
        .collect();
    let ratios: Map<String, Value> = ["bare", "zenoh"]
        .iter()
        .filter(|other| **other != cell.system)
        .filter_map(|o| Some(((*o).into(), json!(cell.times_better(beside(all, cell, o)?)))))
        .collect();
    json!({
        "case": cell.case.to_string(),
        "kind": cell.case.kind.to_string(),
        "topology": cell.case.topology.to_string(),
        "size": cell.case.size,
        "system": cell.system,
        "messages_per_second": cell.rate().map(spread),
        "bits_per_second": cell.bits(),
        "cpu_ns_per_message": cpu,
        "round_trip_us": micros,
        "times_better_than": ratios,
        "trouble": cell.trouble,
        "rounds": cell.rounds.iter().map(round).collect::<Vec<_>>(),
    })
}

fn cost(cost: &Cost) -> Value {
    json!({
        "sleeps_per_message": cost.sleeps,
        "preemptions_per_message": cost.preemptions,
        "threads": cost.threads,
        "rss_kib": cost.rss_kib,
    })
}

/// The middle and the ends by name.
pub fn spread(s: Spread) -> Value {
    json!({"median": s.median, "min": s.min, "max": s.max})
}

fn round(round: &Round) -> Value {
    let costs = round.costs().iter();
    let cpu: Map<String, Value> = costs
        .clone()
        .map(|(role, c)| ((*role).into(), json!(c.cpu_nanos)))
        .collect();
    let used: Map<String, Value> = costs.map(|(role, c)| ((*role).into(), cost(c))).collect();
    match round {
        Round::Flow(flow) => json!({
            "messages_per_second": flow.rate,
            "cpu_ns_per_message": cpu,
            "used": used,
            "messages_at_nanos":
                flow.counts.iter().map(|c| [c.nanos, c.messages]).collect::<Vec<_>>(),
        }),
        Round::Trips(trips) => json!({
            "messages_per_second": trips.rate,
            "cpu_ns_per_message": cpu,
            "used": used,
            "nanos_times": pairs(&trips.histogram),
        }),
    }
}
