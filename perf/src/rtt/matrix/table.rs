// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables in the article's form: a row for each rate, a column for each backend. They can be pasted
//! into a Markdown page.

use super::Report;
use super::cell::{Cell, DISTURBED, Summary};
use super::plan::{Case, Framework};
use crate::numbers::short;
use crate::table::NONE;

/// All of them, and how to read them.
pub fn tables(report: &Report) -> String {
    let mut text = String::new();
    let plan = &report.plan;
    for &transport in &plan.transports {
        for &pacing in &plan.pacings {
            for &tasks in &plan.tasks {
                let cases: Vec<Case> = plan.at_each_rate(transport, pacing, tasks).collect();
                text += &format!(
                    "\n{transport}, {} pacing, {tasks} tasks, {} bytes: p50 (p99) in µs\n{}\n",
                    pacing.name(),
                    report.size,
                    table(report, &cases)
                );
            }
        }
    }
    format!("{text}\n{} {}", report.legend, reading())
}

fn table(report: &Report, cases: &[Case]) -> String {
    let has_any = |f: &&Framework| cases.iter().any(|c| find(report, **f, c).is_some());
    let columns: Vec<Framework> = report
        .plan
        .frameworks
        .iter()
        .filter(has_any)
        .copied()
        .collect();
    let header = ["wanted/s"]
        .into_iter()
        .chain(columns.iter().map(|f| f.name()));
    let rows = cases.iter().flat_map(|case| {
        let summaries: Vec<Option<Summary>> = columns
            .iter()
            .map(|f| find(report, *f, case)?.summary())
            .collect();
        [
            row(case.rate.to_string(), &summaries, times),
            row("achieved".into(), &summaries, achieved),
        ]
    });
    zonda_program::table(header, rows, ..)
}

fn find<'r>(report: &'r Report, framework: Framework, case: &Case) -> Option<&'r Cell> {
    let mut cells = report.cells.iter();
    cells.find(|c| c.key.framework == framework && c.key.case == *case)
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
