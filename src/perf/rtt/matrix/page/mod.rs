// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report to look at: one page that needs no other file and no network, with a figure of the median
//! and its band for each transport, pacing and number of tasks, distribution functions, and filters.

mod curves;
mod figure;
mod scale;

use super::Report;
use super::plan::Case;

/// Looks and filters.
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The whole page.
pub fn page(report: &Report) -> String {
    let mut body = String::new();
    let plan = &report.plan;
    for &tasks in &plan.tasks {
        for &transport in &plan.transports {
            for &pacing in &plan.pacings {
                let cases: Vec<Case> = plan
                    .rates
                    .iter()
                    .map(|&rate| Case {
                        transport,
                        pacing,
                        tasks,
                        rate,
                    })
                    .collect();
                body += &section(report, &cases);
            }
        }
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Raw round trips</title>\n<style>\n{STYLE}</style></head><body>\n\
         <h1>Raw round trips by backend</h1>\n{}\n{}\n{body}<script>\n{SCRIPT}</script>\n\
         </body></html>\n",
        facts(report),
        filters(report)
    )
}

/// The figures of one transport, pacing and number of tasks.
fn section(report: &Report, cases: &[Case]) -> String {
    let Some(first) = cases.first() else {
        return String::new();
    };
    let (transport, pacing, tasks) = (first.transport, first.pacing.name(), first.tasks);
    let mut text = format!(
        "<section data-transport=\"{transport}\" data-pacing=\"{pacing}\" data-tasks=\"{tasks}\">\n\
         <h2>{transport}, {pacing} pacing, {tasks} tasks</h2>\n{}\n<div class=\"small\">",
        curves::medians(report, cases)
    );
    for case in cases {
        text += &curves::distribution(report, case);
    }
    text + "</div></section>\n"
}

/// Machine, build and settings, as far as they are known.
fn facts(report: &Report) -> String {
    let row = |(name, value): &(&str, String)| format!("<tr><th>{name}<td>{}\n", escape(value));
    let rows: String = report.facts.iter().map(row).collect();
    format!("<table>{rows}</table>\n<p>{}</p>", escape(&report.legend))
}

/// A box for each transport, pacing, number of tasks and framework.
fn filters(report: &Report) -> String {
    let plan = &report.plan;
    let group = |name: &str, values: Vec<String>| {
        let boxes: String = values
            .iter()
            .map(|v| {
                format!(
                    "<label class=\"f-{v}\"><input type=\"checkbox\" checked data-{name}=\"{v}\">\
                     {v}</label> "
                )
            })
            .collect();
        format!("<fieldset><legend>{name}</legend>{boxes}</fieldset>")
    };
    let transports = plan.transports.iter().map(ToString::to_string).collect();
    let pacings = plan.pacings.iter().map(|p| p.name().to_owned()).collect();
    let tasks = plan.tasks.iter().map(ToString::to_string).collect();
    let frameworks = plan
        .frameworks
        .iter()
        .map(|f| f.name().to_owned())
        .collect();
    format!(
        "<form>{}{}{}{}</form>\n<p>Lines: median; bands: 2.5 to 97.5 %. Point at a dot for the rate \
         that was achieved.</p>",
        group("transport", transports),
        group("pacing", pacings),
        group("tasks", tasks),
        group("framework", frameworks)
    )
}

/// Text that a page shows as it is.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(escape("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }
}
