// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texts for other programs: `rtt.csv` with the studies' columns, `rtt.json` with everything.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::cell::{Cell, Round, Summary};
use super::stage::Setting;
use super::{Matrix, Report, Surroundings};
use crate::machine;
use crate::record::Spread;
use crate::rtt::csv;

/// Raised when a field changes its meaning or goes away.
const FORMAT: u32 = 1;
/// Decimal places of a distribution function's shares.
const SHARE_SCALE: f64 = 1e4;

/// A row for each time that occurred, with how often; then the rate and the losses of each round.
pub fn rows(report: &Report) -> String {
    let mut text = format!("{}\n", csv::HEADER);
    for cell in &report.cells {
        let case = &cell.key.case;
        let pacing = case.pacing.name();
        let transport = match cell.key.framework.name() {
            "icmp" => "icmp",
            _ => case.transport.name(),
        };
        let mut add = |test: &str, count: u64, value: f64, unit: &str| {
            let row = csv::Row {
                framework: cell.key.framework.name(),
                transport,
                test: &format!("{test}-{pacing}"),
                count,
                rate: case.rate.hertz(),
                payload: report.size,
                tasks: case.tasks,
                value,
                unit,
            };
            writeln!(text, "{row}").expect("a string takes everything");
        };
        for round in &cell.rounds {
            for (nanos, times) in &round.pairs {
                add("rtt", *times, *nanos as f64, "ns");
            }
            let answered = round.sent.saturating_sub(round.lost);
            add("throughput", answered, round.achieved.unwrap_or(0.0), "1/s");
            add("lost", round.sent, round.lost as f64, "messages");
        }
    }
    text
}

/// Everything, and where it was measured.
pub fn whole(
    report: &Report,
    matrix: &Matrix,
    setting: &Setting,
    before: &Surroundings,
    is_whole: bool,
) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut whole = json!({
        "format": FORMAT,
        "unix_time": now.unwrap_or_default().as_secs(),
        "command": std::env::args().collect::<Vec<_>>(),
        "machine": before.machine,
        "load_average_after": machine::load_average(),
        "build": machine::build(),
    });
    whole["conditions"] = json!(before.conditions);
    whole["configuration"] = json!({
        "rounds": matrix.rounds,
        "is_whole": is_whole,
        "seconds": setting.seconds,
        "payload": setting.size,
        "cpu_work": setting.cpu_work,
        "pinned_cpus": setting.cpus.map(|(pong, ping)| json!({"pong": pong, "ping": ping})),
        "congestion": matrix.congestion,
        "nice": matrix.nice,
        "quirks": matrix.quirks,
        "network": if setting.namespaces.is_some() { "namespaces" } else { "loopback" },
    });
    whole["cells"] = report.cells.iter().map(cell).collect();
    whole
}

fn cell(cell: &Cell) -> Value {
    let case = &cell.key.case;
    json!({
        "framework": cell.key.framework.name(),
        "transport": case.transport.name(),
        "pacing": case.pacing.name(),
        "tasks": case.tasks,
        "wanted_per_second": case.rate.hertz(),
        "wanted": case.rate.to_string(),
        "trouble": cell.trouble,
        "summary": cell.summary().as_ref().map(summary),
        "rounds": cell.rounds.iter().map(round).collect::<Vec<_>>(),
    })
}

fn summary(summary: &Summary) -> Value {
    let micros = summary.micros.iter();
    let micros: Map<String, Value> = micros.map(|(n, m)| ((*n).into(), json!(m))).collect();
    let share = |s: f64| (s * SHARE_SCALE).round() / SHARE_SCALE;
    let points = summary.distribution.iter();
    json!({
        "round_trip_us": micros,
        "p50_us_of_rounds": spread(summary.medians),
        "achieved_per_second": summary.achieved.map(spread),
        "sent": summary.sent,
        "lost": summary.lost,
        "cpu_us_per_round_trip": summary.cpu_micros,
        "sleeps_per_round_trip": summary.sleeps,
        "processors_used_by_others": summary.others,
        "is_disturbed": summary.is_disturbed(),
        "us_share": points.map(|(us, s)| json!([us, share(*s)])).collect::<Vec<_>>(),
    })
}

fn round(round: &Round) -> Value {
    json!({
        "achieved_per_second": round.achieved,
        "sent": round.sent,
        "lost": round.lost,
        "cpu_ns_per_round_trip": round.cpu_nanos,
        "sleeps_per_round_trip": round.sleeps,
        "processors_used_by_others": round.others,
    })
}

fn spread(s: Spread) -> Value {
    json!({"median": s.median, "min": s.min, "max": s.max})
}
