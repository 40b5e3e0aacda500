// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables that `perf runtimes` prints, in a form that can be pasted into a Markdown page.

use crate::case::{Case, Kind, Topology, bytes};
use crate::footprint::Cost;
use crate::result::Spread;
use crate::table::{NONE, short, spread};

use super::advice::{Advice, Standing, seconds_per_million};
use super::plan::{Contender, Entry};
use super::trips;

/// A table without rows, or `None` if there is nothing to fill it with.
pub fn table(header: &[String], rows: Vec<Vec<String>>, words: usize) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    Some(zonda_program::table(header, rows, words..))
}

/// All tables with their titles.
pub fn tables(entries: &[Entry], advice: &[Advice]) -> String {
    let mut parts = Vec::new();
    let mut part = |title: &str, text: Option<String>| {
        parts.extend(text.map(|text| format!("{title}\n\n{text}\n")));
    };
    for (topology, words) in [
        (Topology::PeerToPeer, "peer to peer"),
        (Topology::Routed, "through a router"),
    ] {
        part(
            &format!(
                "Throughput {words}: messages per second (min..max), share of the best runtime"
            ),
            throughput(entries, topology),
        );
    }
    part("Round trips of 64 B, in µs", trips::table_of(entries));
    part(
        "CPU seconds of all programs per million messages (min..max)",
        seconds(entries),
    );
    part(
        "What the programs use: sender / router / receiver",
        resources(entries),
    );
    part("What to take", recommended(advice));
    parts.join("\n")
}

/// The cases with a cell that `wanted` says yes to, in order.
fn cases(entries: &[Entry], wanted: impl Fn(&Case) -> bool) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for entry in entries {
        let case = entry.cell.case;
        if wanted(&case) && !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

/// One row for each contender, one column for each case.
fn pivot(
    entries: &[Entry],
    cases: &[Case],
    title: fn(&Case) -> String,
    text: impl Fn(&Entry) -> String,
) -> Option<String> {
    let mut contenders: Vec<Contender> = Vec::new();
    let mut header = vec!["runtime".to_owned()];
    header.extend(cases.iter().map(title));
    for entry in entries {
        let is_shown = cases.contains(&entry.cell.case) && entry.contender.role() != "raw";
        if is_shown && !contenders.contains(&entry.contender) {
            contenders.push(entry.contender);
        }
    }
    contenders.sort_by_key(|c| *c == Contender::Bare);
    let cell = |contender: &Contender, case: &Case| {
        let mut entries = entries.iter();
        let entry = entries.find(|e| e.contender == *contender && e.cell.case == *case);
        entry.map_or(NONE.into(), &text)
    };
    let row = |contender: &Contender| {
        let mut row = vec![contender.to_string()];
        row.extend(cases.iter().map(|case| cell(contender, case)));
        row
    };
    table(&header, contenders.iter().map(row).collect(), 1)
}

fn throughput(entries: &[Entry], topology: Topology) -> Option<String> {
    let cases = cases(entries, |c| {
        c.kind == Kind::Throughput && c.topology == topology
    });
    let best = |case: &Case| {
        let nodes = entries.iter().filter(|e| e.cell.case == *case);
        let nodes = nodes.filter(|e| e.contender.role() == "node");
        let rates = nodes.filter_map(|e| Some(e.cell.rate()?.median));
        rates.max_by(f64::total_cmp)
    };
    let text = |entry: &Entry| {
        let Some(rate) = entry.cell.rate() else {
            return NONE.into();
        };
        let share = best(&entry.cell.case).map_or(String::new(), |best| {
            format!(" {:.0}%", rate.median * 100.0 / best)
        });
        format!("{}{share}", spread(rate, short))
    };
    pivot(entries, &cases, |case| bytes(case.size), text)
}

fn seconds(entries: &[Entry]) -> Option<String> {
    let cases = cases(entries, |c| c.manner.is_none_or(|m| m.hertz.is_none()));
    let text = |entry: &Entry| {
        let rounds = entry.cell.rounds.iter();
        Spread::of(rounds.filter_map(seconds_per_million)).map_or(NONE.into(), |s| spread(s, short))
    };
    pivot(entries, &cases, without_manner, text)
}

/// The name of a case as short as it is clear.
fn without_manner(case: &Case) -> String {
    let what = match case.manner {
        None => bytes(case.size),
        Some(manner) => format!("ping {}", manner.receiving),
    };
    format!("{what} {}", case.topology)
}

/// Rows for the smallest messages and the round trips, where a runtime shows most.
fn resources(entries: &[Entry]) -> Option<String> {
    let is_small = |entry: &&Entry| {
        entry.contender.role() != "raw"
            && entry.cell.case.size <= 64
            && !entry.cell.rounds.is_empty()
    };
    let columns = [
        "case",
        "runtime",
        "sleeps/msg",
        "preempted/msg",
        "threads",
        "RSS MiB",
    ];
    let header = columns.map(String::from);
    let row = |entry: &Entry| {
        let texts = |figure: fn(&Cost) -> Option<f64>, text: fn(f64) -> String| {
            let all = entry.cell.cost(figure).into_iter();
            let all: Vec<String> = all.map(|(_, f)| f.map_or("n/a".into(), text)).collect();
            match all.is_empty() {
                true => NONE.into(),
                false => all.join(" / "),
            }
        };
        vec![
            entry.cell.case.to_string(),
            entry.contender.to_string(),
            texts(|c| c.sleeps, rare),
            texts(|c| c.preemptions, rare),
            texts(|c| c.threads.map(|t| t as f64), |t| format!("{t:.0}")),
            texts(
                |c| c.rss_kib.map(|k| k as f64 / 1024.0),
                |m| format!("{m:.1}"),
            ),
        ]
    };
    table(
        &header,
        entries.iter().filter(is_small).map(row).collect(),
        2,
    )
}

fn recommended(advice: &[Advice]) -> Option<String> {
    let columns = [
        "for",
        "take",
        "score",
        "not told apart from it",
        "behind it",
    ];
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
        Some(vec![
            advice.question.name.to_owned(),
            best.runtime.to_owned(),
            format!("{} {}", short(best.score.median), advice.question.unit),
            list(false),
            list(true),
        ])
    };
    let rows = advice.iter().filter_map(row).collect();
    table(&columns.map(String::from), rows, 5)
}

/// A runtime with how many times worse it is.
fn against(standing: &Standing) -> String {
    let p = match standing.p {
        p if p < 0.005 => "<0.01".to_owned(),
        p => format!("{p:.2}"),
    };
    format!("{} {:.2}x (p {p})", standing.runtime, standing.times_worse)
}

/// A figure that is often far below one.
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
