// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables in the article's form, for a Markdown page: a row for each rate, a column for each
//! backend.

use crate::campaign::Entry;
use crate::histogram::micros;
use crate::numbers::short;
use crate::record::Cell;
use crate::scenario::distinct;
use crate::scenario::rates::Pace;
use crate::scenario::raw::Raw;
use crate::table::or_none;

/// The share of a processor that other programs may use before the figures are flagged.
const DISTURBED: f64 = 0.25;

/// Returns all tables, of messages of `size` bytes.
pub fn tables(entries: &[Entry], size: usize) -> String {
    let kind = |entry: &Entry| {
        let rate = Pace::BackToBack;
        entry.scenario.raw().map(|raw| Raw { rate, ..*raw })
    };
    let mut text = String::new();
    for here in entries.chunk_by(|a, b| kind(a) == kind(b)) {
        if let Some(Raw {
            transport,
            pacing,
            tasks,
            ..
        }) = here.first().and_then(kind)
        {
            let pacing = pacing.name();
            text += &format!(
                "\n{transport}, {pacing} pacing, {tasks} tasks, {size} bytes: p50 (p99) in µs\n{}\n",
                table(here)
            );
        }
    }
    text
}

/// Returns the explanation of the tables.
pub fn reading() -> String {
    format!(
        "exact: an absolute schedule, no sleep at inf; seed: the runtime's own sleep after each round \
         trip, as published. *: other programs used more than {DISTURBED} of a processor."
    )
}

fn table(entries: &[Entry]) -> String {
    let columns = distinct(entries.iter().map(|entry| entry.system.name.as_str()));
    let header = ["wanted/s"].into_iter().chain(columns.iter().copied());
    let rows = entries.chunk_by(Entry::is_beside).flat_map(|row| {
        let wanted = row.first().and_then(|entry| entry.scenario.raw());
        let line = |title: String, text: fn(&Cell) -> Option<String>| {
            let cell = |name: &&str| {
                let mut row = row.iter();
                or_none(
                    row.find(|e| e.system.name == **name)
                        .and_then(|e| text(&e.cell)),
                )
            };
            let cells = columns.iter().map(cell);
            [title].into_iter().chain(cells).collect::<Vec<_>>()
        };
        let wanted = wanted.map(Raw::wanted).unwrap_or_default();
        [line(wanted, times), line("achieved".into(), achieved)]
    });
    zonda_program::table(header, rows, ..)
}

fn times(cell: &Cell) -> Option<String> {
    let all = cell.latencies()?;
    let others = cell.spread("others");
    let flag = match others.is_some_and(|others| others.max > DISTURBED) {
        true => "*",
        false => "",
    };
    Some(format!(
        "{:.1} ({:.1}){flag}",
        micros(&all, 50.0),
        micros(&all, 99.0)
    ))
}

fn achieved(cell: &Cell) -> Option<String> {
    cell.latencies()?;
    let loss = match cell.sum("lost") {
        0.0 => String::new(),
        lost => format!(", {:.2}% lost", lost * 100.0 / cell.sum("sent").max(1.0)),
    };
    Some(format!("{}{loss}", or_none(cell.median("rate").map(short))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Better::{Higher, Lower, Neither};
    use crate::record::Round;
    use crate::rtt::matrix::plan::entry;
    use crate::scenario::raw::{Pacing, Transport};
    use crate::system::Span;

    #[test]
    fn rounds_come_together() {
        let case = Raw {
            transport: Transport::Udp,
            pacing: Pacing::Exact,
            tasks: 10,
            rate: Pace::Rate(1e3),
        };
        let mut smol = entry("smol", case, Span::new(0.0, 1.0));
        let std = entry("std", case, Span::new(0.0, 1.0));
        for micros in [&[10_u64, 11, 12][..], &[20, 30, 40, 50]] {
            let mut round = Round::of_latencies(micros.iter().map(|m| (m * 1000, 1)).collect());
            round.add("rate", "msg/s", Higher, 7.0);
            round.add("sent", "msg", Neither, micros.len() as f64 + 1.0);
            round.add("lost", "msg", Lower, 1.0);
            round.add("others", "processors", Neither, 0.3);
            smol.cell.append(round);
        }
        let text = tables(&[smol, std], 64);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "udp, exact pacing, 10 tasks, 64 bytes: p50 (p99) in µs",
            "| wanted/s | smol | std |",
            "| 1k | 20.0 (50.0)* | - |",
            "| achieved | 7.00, 22.22% lost | - |",
        ] {
            assert!(words.contains(part), "{part}: {text}");
        }
    }
}
