// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report to look at: one page that needs no other file and no network, with a figure of the median
//! and its band for each transport, pacing and number of tasks, distribution functions, and filters.

mod curves;
mod figure;
mod scale;

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use super::plan::Case;
use super::{Report, cannot_write};
use crate::arguments::Failure;
use crate::perf::machine;

/// Looks and filters.
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Writes `rtt.html`.
pub fn write(report: &Report<'_>) -> Result<(), Failure> {
    let file = report.matrix.out.join("rtt.html");
    fs::write(&file, page(report)).map_err(|e| cannot_write(&file, &e))
}

fn page(report: &Report<'_>) -> String {
    let mut body = String::new();
    let plan = report.plan;
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
fn section(report: &Report<'_>, cases: &[Case]) -> String {
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
fn facts(report: &Report<'_>) -> String {
    let mut rows = String::new();
    let mut add = |name: &str, value: String| {
        let value = escape(&value);
        writeln!(rows, "<tr><th>{name}<td>{value}").expect("a string takes everything");
    };
    let command: Vec<String> = std::env::args().skip(1).collect();
    add("command", format!("zonda {}", command.join(" ")));
    add("machine", machine::summary());
    for (name, key, from) in [
        ("load before", "load_average", &report.machine),
        ("governor", "governor", &report.conditions),
        (
            "waiting for a processor, %",
            "cpu_pressure_percent",
            &report.conditions,
        ),
        ("compiler", "rustc", &machine::build()),
        ("profile", "profile", &machine::build()),
    ] {
        add(name, known(&from[key]));
    }
    add("messages", format!("{} bytes", report.setting.size));
    add(
        "processors",
        match report.setting.cpus {
            Some((pong, ping)) => format!("pong on {pong}, ping on {ping}"),
            None => "not pinned".into(),
        },
    );
    format!("<table>{rows}</table>")
}

fn known(value: &Value) -> String {
    match value {
        Value::Null => "not known".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A box for each transport, pacing, number of tasks and framework.
fn filters(report: &Report<'_>) -> String {
    let plan = report.plan;
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
        assert_eq!(known(&Value::Null), "not known");
    }
}
