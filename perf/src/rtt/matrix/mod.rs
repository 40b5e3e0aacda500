// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf rtt matrix`: every backend in every case, in interleaved rounds, as one table like the
//! article's, and as files to go on with. The programs it starts are `perf rtt` itself.

mod arguments;
mod files;
mod namespaces;
mod page;
mod plan;
mod plot;
mod report;
mod stage;
mod summary;
mod table;

use serde_json::{Map, Value, json};
use zonda_program::{Failure, print};

pub use arguments::Matrix;
pub use plot::{Plot, plot};

use super::place;
use crate::campaign::{Campaign, Entry, named};
use crate::machine;
use crate::record::Record;
use crate::scenario::Scenario;
use files::{try_out, write};
use plan::framework;
use report::{Measured, Report};
use stage::Setting;

/// Runs the plan, prints the tables and writes the files.
pub fn matrix(matrix: &Matrix) -> Result<(), Failure> {
    let plan = matrix.plan()?;
    // better now than after minutes of work
    try_out(&matrix.out)?;
    let setting = matrix.setting()?;
    let conditions = place::conditions();
    let json = matrix.out.join("rtt.json");
    let campaign = Campaign {
        tool: "rtt",
        settings: settings(matrix, &setting),
        rounds: matrix.rounds,
        json: Some(&json),
        is_list: false,
        keeps_samples: true,
        measure: &|entry, interrupt| setting.measure(entry, interrupt),
    };
    let entries = plan.entries(|case| setting.span(case));
    let Some(mut outcome) = campaign.run(entries)? else {
        return Ok(());
    };
    let more = &mut outcome.record.more;
    more.insert("conditions".into(), conditions);
    let report = Report {
        cells: outcome.entries.iter().filter_map(measured).collect(),
        size: setting.size,
        facts: facts(&outcome.record, &setting),
        legend: legend(matrix, &setting),
        plan,
    };
    outcome.print(&table::tables(&report));
    outcome.record.write(&json)?;
    write(&matrix.out, "rtt.csv", &report.csv())?;
    write(&matrix.out, "rtt.html", &page::page(&report))?;
    let folder = matrix.out.display();
    print(format_args!(
        "written: rtt.csv, rtt.json and rtt.html in {folder}"
    ));
    outcome.finish(None)
}

fn measured(entry: &Entry) -> Option<Measured> {
    let Scenario::Raw(case) = entry.scenario else {
        return None;
    };
    Some(Measured {
        framework: framework(&entry.system.name)?,
        case,
        cell: entry.cell.clone(),
    })
}

fn settings(matrix: &Matrix, setting: &Setting) -> Map<String, Value> {
    let pinned = setting
        .cpus
        .map(|(pong, ping)| json!({"pong": pong, "ping": ping}));
    named([
        ("rounds", json!(matrix.rounds)),
        ("seconds", json!(setting.seconds)),
        ("payload", json!(setting.size)),
        ("cpu_work", json!(setting.cpu_work)),
        ("pinned_cpus", json!(pinned)),
        ("congestion", json!(matrix.congestion)),
        ("nice", json!(matrix.nice)),
        ("quirks", json!(matrix.quirks)),
        ("network", json!(network(setting))),
    ])
}

fn facts(record: &Record, setting: &Setting) -> Vec<(&'static str, String)> {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let build = machine::build();
    vec![
        ("command", format!("zonda {}", command.join(" "))),
        ("machine", machine::summary()),
        ("load before", known(&record.machine["load_average"])),
        ("governor", known(&record.more["conditions"]["governor"])),
        (
            "waiting for a processor, %",
            known(&record.more["conditions"]["cpu_pressure_percent"]),
        ),
        ("compiler", known(&build["rustc"])),
        ("profile", known(&build["profile"])),
        ("messages", format!("{} bytes", setting.size)),
        ("network", network(setting).to_owned()),
        ("processors", processors(setting)),
    ]
}

fn known(value: &Value) -> String {
    match value {
        Value::Null => "not known".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn processors(setting: &Setting) -> String {
    match setting.cpus {
        Some((pong, ping)) => format!("pong on processor {pong}, ping on {ping}"),
        None => "not pinned".to_owned(),
    }
}

fn network(setting: &Setting) -> &'static str {
    match setting.namespaces {
        Some(_) => "between two network namespaces",
        None => "over loopback",
    }
}

fn legend(matrix: &Matrix, setting: &Setting) -> String {
    let work = match setting.cpu_work {
        Some(share) => format!("tasks compute on {share} of a processor"),
        None => "tasks multiply once a millisecond".to_owned(),
    };
    format!(
        "{} rounds {}, {}; {work}.",
        matrix.rounds,
        network(setting),
        processors(setting)
    )
}
