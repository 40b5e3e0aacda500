// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report to look at: a figure of the median and its band for each transport, pacing and number of tasks,
//! distribution functions, and filters.

mod curves;

use super::report::Report;
use crate::page::{Filter, Page, colour, section};
use crate::rtt::backend::Backend;
use crate::scenario::raw::Raw;

/// The whole page.
pub fn page(report: &Report) -> String {
    let mut body = String::new();
    for cases in report.plan.tables() {
        body += &figures(report, &cases);
    }
    let fact = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
    let hint =
        "Lines: median; bands: 2.5 to 97.5 %. Point at a dot for the rate that was achieved.";
    Page {
        title: "Raw round trips by backend".into(),
        facts: report.facts.iter().map(fact).collect(),
        legend: vec![report.legend.clone(), hint.into()],
        filters: filters(report),
        body,
    }
    .html()
}

/// The figures of one transport, pacing and number of tasks.
fn figures(report: &Report, cases: &[Raw]) -> String {
    let Some(first) = cases.first() else {
        return String::new();
    };
    let (transport, pacing, tasks) = (first.transport, first.pacing.name(), first.tasks);
    let mut content = format!("{}\n<div class=\"small\">", curves::medians(report, cases));
    for case in cases {
        content += &curves::distribution(report, case);
    }
    content += "</div>";
    section(
        &[
            ("transport", transport.to_string()),
            ("pacing", pacing.to_owned()),
            ("tasks", tasks.to_string()),
        ],
        &format!("{transport}, {pacing} pacing, {tasks} tasks"),
        &content,
    )
}

/// A box for each transport, pacing, number of tasks and framework.
fn filters(report: &Report) -> Vec<Filter> {
    let plan = &report.plan;
    let frameworks = plan.frameworks.iter();
    let framework = |name: &&str| ((*name).to_owned(), class(name));
    vec![
        Filter::plain("transport", plan.transports.iter().map(ToString::to_string)),
        Filter::plain("pacing", plan.pacings.iter().map(|p| p.name().to_owned())),
        Filter::plain("tasks", plan.tasks.iter().map(ToString::to_string)),
        Filter {
            name: "framework",
            values: frameworks.map(framework).collect(),
        },
    ]
}

/// The colour of a framework, the same on every page.
fn class(framework: &str) -> String {
    match Backend::ALL.into_iter().position(|b| b.name() == framework) {
        Some(_) if framework == Backend::Std.name() => "c-dark".into(),
        Some(known) => colour(known),
        None => colour(7),
    }
}
