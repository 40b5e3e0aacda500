// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of `perf runtimes`.

use super::advice::{Advice, RuntimeResult, is_dense, seconds_per_million};
use super::{BARE, RAW};
use crate::campaign::Entry;
use crate::histogram::micros;
use crate::numbers::{short, tenths};
use crate::record::Spread;
use crate::scenario::{Receiving, Scenario, Topology, Trips, bytes, distinct};
use crate::table::{NONE, Table, by_role, or_none, spread};

/// Returns all tables with their titles.
pub fn tables(entries: &[Entry], advice: &[Advice]) -> String {
    let of = |topology| throughput(entries, topology);
    let what = "messages per second (min..max), share of the best runtime";
    let parts = [
        (
            format!("Throughput peer to peer: {what}"),
            of(Topology::PeerToPeer),
        ),
        (
            format!("Throughput through a router: {what}"),
            of(Topology::Routed),
        ),
        ("Round trips of 64 B, in µs".into(), round_trips(entries)),
        (
            "CPU seconds of all programs per million messages (min..max)".into(),
            seconds(entries),
        ),
        (
            "What the programs use: sender / router / receiver".into(),
            resources(entries),
        ),
        ("What to take".into(), recommended(advice)),
    ];
    // tables without rows are left out
    let texts = parts
        .into_iter()
        .filter_map(|(title, text)| Some(format!("{title}\n\n{}\n", text?)));
    texts.collect::<Vec<_>>().join("\n")
}

fn is_raw(entry: &Entry) -> bool {
    entry.system.name.starts_with(RAW)
}

/// Returns a table with a row for each system and a column for each `wanted` scenario.
fn pivot(
    entries: &[Entry],
    wanted: impl Fn(&Scenario) -> bool,
    title: fn(&Scenario) -> String,
    text: impl Fn(&Entry) -> Option<String>,
) -> Option<String> {
    let shown = entries.iter().filter(|e| wanted(&e.scenario) && !is_raw(e));
    // columns and rows, with bare sockets last
    let scenarios = distinct(shown.clone().map(|entry| entry.scenario));
    let mut systems = distinct(shown.clone().map(|entry| entry.system.name.as_str()));
    systems.sort_by_key(|system| *system == BARE);
    let head = scenarios.iter().map(title);
    let head: Vec<String> = ["runtime".to_owned()].into_iter().chain(head).collect();
    // a row of cells
    let row = |system: &&str| {
        let cell = |scenario: &Scenario| {
            let mut shown = shown.clone();
            let entry = shown.find(|e| e.system.name == *system && e.scenario == *scenario);
            or_none(entry.and_then(&text))
        };
        let cells = scenarios.iter().map(cell);
        [(*system).to_owned()]
            .into_iter()
            .chain(cells)
            .collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = systems.iter().map(row).collect();
    (!rows.is_empty()).then(|| zonda_program::table(head, rows, 1..))
}

fn throughput(entries: &[Entry], topology: Topology) -> Option<String> {
    let best = |scenario: &Scenario| {
        let nodes = entries
            .iter()
            .filter(|e| e.system.is_own() && e.scenario == *scenario);
        nodes
            .filter_map(|e| e.cell.median("rate"))
            .max_by(f64::total_cmp)
    };
    let text = |entry: &Entry| {
        let rate = entry.cell.spread("rate")?;
        let share =
            best(&entry.scenario).map(|best| format!(" {:.0}%", rate.median * 100.0 / best));
        Some(format!(
            "{}{}",
            spread(rate, short),
            share.unwrap_or_default()
        ))
    };
    let is_here = |s: &Scenario| s.flow().is_some() && s.topology() == topology;
    pivot(entries, is_here, |scenario| bytes(scenario.size()), text)
}

fn seconds(entries: &[Entry]) -> Option<String> {
    let text = |entry: &Entry| Some(spread(Spread::of(seconds_per_million(&entry.cell))?, short));
    pivot(entries, is_dense, without_pace, text)
}

/// Returns the short name of a scenario.
fn without_pace(scenario: &Scenario) -> String {
    let what = match scenario.trips().and_then(|trips| trips.receiving) {
        None => bytes(scenario.size()),
        Some(receiving) => format!("ping {receiving}"),
    };
    format!("{what} {}", scenario.topology())
}

/// Returns the table of resources for the smallest messages and the round trips, where runtimes
/// differ most.
fn resources(entries: &[Entry]) -> Option<String> {
    let is_small = |e: &&Entry| !is_raw(e) && e.scenario.size() <= 64 && !e.cell.metrics.is_empty();
    let column = |metric: &'static str, text: fn(f64) -> String| {
        move |entry: &Entry| by_role(&entry.cell, metric, |s| text(s.median))
    };
    Table::default()
        .title("case", Entry::title)
        .system("runtime")
        .column("sleeps/msg", column("sleeps", rare))
        .column("preempted/msg", column("preemptions", rare))
        .column("threads", column("threads", |t| format!("{t:.0}")))
        .column("RSS MiB", column("resident", |kib| tenths(kib / 1024.0)))
        .of(entries.iter().filter(is_small))
}

/// Returns the table of round trips, with a row for each node and for bare sockets; raw ping-pongs
/// are columns.
fn round_trips(entries: &[Entry]) -> Option<String> {
    let p50 = |entry: &Entry| entry.cell.median("p50");
    let beside = move |entry: &Entry, yardstick: &str| {
        let trips = *entry.scenario.trips()?;
        // replies through a queue are compared with the same yardstick as those by callback
        let scenario = Scenario::Trips(Trips {
            receiving: Some(Receiving::Callback),
            ..trips
        });
        let other = entries
            .iter()
            .find(|e| e.system.name == yardstick && e.scenario == scenario);
        other
            .filter(|other| other.system != entry.system)
            .and_then(p50)
    };
    let raw = move |entry: &Entry| beside(entry, &format!("{RAW}{}", entry.system.name));
    let bare = move |entry: &Entry| beside(entry, BARE);
    // columns
    let times =
        move |entry: &Entry, other: Option<f64>| Some(format!("{:.2}", p50(entry)? / other?));
    Table::default()
        .title("case", |entry| {
            let name = entry.scenario.to_string();
            name.replacen(" 64B", "", 1)
        })
        .system("runtime")
        .column("p50 (min..max)", |e| {
            or_none(e.cell.spread("p50").map(|s| spread(s, short)))
        })
        .median("p99", "p99", tenths)
        .column("p99.9", |e| or_none(rarest(e).map(tenths)))
        .column("raw p50", move |e| or_none(raw(e).map(tenths)))
        .column("x raw", move |e| or_none(times(e, raw(e))))
        .column("bare p50", move |e| or_none(bare(e).map(tenths)))
        .column("x bare", move |e| or_none(times(e, bare(e))))
        .of(entries
            .iter()
            .filter(|e| e.scenario.trips().is_some() && !is_raw(e)))
}

/// Returns the p99.9 of all rounds together, in microseconds: one round has too few round trips for
/// it.
fn rarest(entry: &Entry) -> Option<f64> {
    Some(micros(&entry.cell.latencies()?, 99.9))
}

fn recommended(advice: &[Advice]) -> Option<String> {
    let head = [
        "for",
        "take",
        "score",
        "no significant difference",
        "behind it",
    ];
    // the best runtime, then those that are not significantly worse, then the rest
    let row = |advice: &Advice| {
        let (best, others) = advice.standings.split_first()?;
        let list = |is_behind: bool| {
            let chosen = others.iter().filter(|s| s.is_behind() == is_behind);
            let texts: Vec<String> = chosen.map(against).collect();
            match texts.is_empty() {
                true => NONE.into(),
                false => texts.join(", "),
            }
        };
        Some([
            advice.question.name.to_owned(),
            best.runtime.clone(),
            format!("{} {}", short(best.score.median), advice.question.unit),
            list(false),
            list(true),
        ])
    };
    let rows: Vec<[String; 5]> = advice.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| zonda_program::table(head, rows, 5..))
}

/// Formats a runtime with the factor by which it is worse.
fn against(standing: &RuntimeResult) -> String {
    let p = match standing.p {
        p if p < 0.005 => "<0.01".to_owned(),
        p => format!("{p:.2}"),
    };
    format!("{} {:.2}x (p {p})", standing.runtime, standing.times_worse)
}

/// Formats a figure that is often far below one.
fn rare(figure: f64) -> String {
    match figure {
        0.0 => "0".into(),
        f if f < 0.0005 => "<0.001".into(),
        f => format!("{f:.3}"),
    }
}

#[cfg(test)]
#[path = "tables/tests.rs"]
mod tests;
