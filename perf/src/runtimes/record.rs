// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `--json` file: the tables, the rounds they were made of, the advice, and where it was measured.

use serde_json::{Value, json};

use crate::report;
use crate::result::Spread;

use super::advice::{Advice, LEVEL, Standing, seconds_per_million};
use super::plan::Entry;
use super::{LeftOut, Runtimes, trips};

/// Raised when a field changes its meaning or goes away.
const FORMAT: u32 = 1;

/// What was measured.
pub struct Outcome<'a> {
    /// The cells.
    pub entries: &'a [Entry],
    /// What follows from them.
    pub advice: &'a [Advice],
    /// Runtimes that the system refuses.
    pub left_out: &'a [LeftOut],
    /// Whether all rounds were made.
    pub is_whole: bool,
}

/// The whole file. `before` is the machine's state before the first measurement.
pub fn record(options: &Runtimes, before: &Value, outcome: &Outcome<'_>) -> Value {
    let left_out = outcome.left_out.iter();
    let mut record = report::head(FORMAT, before);
    record["configuration"] = json!({
        "rounds": options.rounds,
        "is_whole": outcome.is_whole,
        "seconds": options.span().seconds,
        "warm_up_seconds": options.span().warm_up,
        "only": options.only,
        "pinned_cpus": null,
        "address": "127.0.0.1",
    });
    record["left_out"] = left_out
        .map(|l| json!({"runtime": l.kind.name(), "why": l.why}))
        .collect();
    record["cells"] = outcome.entries.iter().map(cell).collect();
    record["advice"] = outcome.advice.iter().map(advice).collect();
    record
}

fn cell(entry: &Entry) -> Value {
    let mut value = report::cell(&[], &entry.cell);
    let manner = entry.cell.case.manner;
    let seconds = entry.cell.rounds.iter().filter_map(seconds_per_million);
    value["role"] = json!(entry.contender.role());
    value["runtime"] = json!(entry.contender.runtime());
    value["round_trips_per_second_wanted"] = json!(manner.and_then(|m| m.hertz));
    value["receiving"] = json!(manner.map(|m| m.receiving.to_string()));
    value["cpu_seconds_per_million"] = json!(Spread::of(seconds).map(report::spread));
    value["p99.9_us_of_all_rounds"] = json!(trips::rarest(entry));
    value
}

fn advice(advice: &Advice) -> Value {
    json!({
        "for": advice.question.name,
        "unit": advice.question.unit,
        "take": advice.standings.first().map(|s| s.runtime),
        "score": "geometric mean over the cases of the question, one for each round",
        "test": "Mann-Whitney, exact, two-sided, each runtime against the best, corrected after Holm",
        "level": LEVEL,
        "rounds": advice.rounds,
        "rounds_needed": advice.rounds_needed(),
        "standings": advice.standings.iter().map(standing).collect::<Vec<_>>(),
    })
}

fn standing(standing: &Standing) -> Value {
    json!({
        "runtime": standing.runtime,
        "scores": standing.scores,
        "score": report::spread(standing.score),
        "times_worse": standing.times_worse,
        "p": standing.p,
        "is_behind": standing.is_behind(),
    })
}
