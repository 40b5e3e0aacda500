// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables in the article's form: a row for each rate, a column for each backend. They can be pasted
//! into a Markdown page.

use super::report::Report;
use super::summary::{DISTURBED, Summary};
use crate::numbers::short;
use crate::scenario::raw::Raw;
use crate::table::NONE;

/// All of them, and how to read them.
pub fn tables(report: &Report) -> String {
    let mut text = String::new();
    for cases in report.plan.tables() {
        let Some(Raw {
            transport,
            pacing,
            tasks,
            ..
        }) = cases.first()
        else {
            continue;
        };
        text += &format!(
            "\n{transport}, {} pacing, {tasks} tasks, {} bytes: p50 (p99) in µs\n{}\n",
            pacing.name(),
            report.size,
            table(report, &cases)
        );
    }
    format!("{text}\n{} {}", report.legend, reading())
}

fn table(report: &Report, cases: &[Raw]) -> String {
    let is_here = |framework: &&&str| {
        let mut cells = report.cells.iter();
        cells.any(|m| m.framework == **framework && cases.contains(&m.case))
    };
    let columns = report.plan.frameworks.iter().filter(is_here);
    let columns: Vec<&str> = columns.copied().collect();
    let header = ["wanted/s"].into_iter().chain(columns.iter().copied());
    let rows = cases.iter().flat_map(|case| {
        let of = |framework: &&str| report.summary(framework, |c| c == case);
        let summaries: Vec<Option<Summary>> = columns.iter().map(of).collect();
        [
            row(case.rate.to_string(), &summaries, times),
            row("achieved".into(), &summaries, achieved),
        ]
    });
    zonda_program::table(header, rows, ..)
}

fn row(title: String, of: &[Option<Summary>], text: fn(&Summary) -> String) -> Vec<String> {
    let cells = of.iter().map(|s| s.as_ref().map_or(NONE.into(), text));
    [title].into_iter().chain(cells).collect()
}

fn times(summary: &Summary) -> String {
    let flag = if summary.is_disturbed() { "*" } else { "" };
    format!("{:.1} ({:.1}){flag}", summary.at("p50"), summary.at("p99"))
}

fn achieved(summary: &Summary) -> String {
    let loss = match summary.lost {
        0 => String::new(),
        _ => format!(", {:.2}% lost", summary.loss_percent()),
    };
    let rate = summary.achieved.map_or(NONE.into(), |r| short(r.median));
    format!("{rate}{loss}")
}

/// How the tables are to be read, whatever was measured.
fn reading() -> String {
    format!(
        "exact: an absolute schedule, no sleep at inf; seed: the runtime's own sleep after each round \
         trip, as published. *: other programs used more than {DISTURBED} of a processor."
    )
}
