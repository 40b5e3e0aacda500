// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of round trips: each runtime's node beside the raw ping-pong of the same runtime and beside
//! bare sockets, measured in the same rounds.

use crate::case::{Case, Receiving};
use crate::latency::Trips;
use crate::result::{Round, Spread};
use crate::round_trips::histogram;

use super::plan::{Contender, Entry};
use super::tables::table;
use crate::table::{NONE, short, spread};

/// One row for each node, and one for bare sockets; the raw ones are columns.
pub fn table_of(entries: &[Entry]) -> Option<String> {
    let columns = [
        "case",
        "runtime",
        "p50 (min..max)",
        "p99",
        "p99.9",
        "raw p50",
        "x raw",
        "bare p50",
        "x bare",
    ];
    let rows = entries
        .iter()
        .filter(|e| e.contender.role() != "raw")
        .filter_map(|entry| row(entries, entry));
    table(&columns.map(String::from), rows.collect(), 2)
}

fn row(entries: &[Entry], entry: &Entry) -> Option<Vec<String>> {
    let manner = entry.cell.case.manner?;
    let p50 = at(entry, 50.0);
    let bare = yardstick(entries, entry, |c| c == Contender::Bare);
    let raw = yardstick(entries, entry, |c| {
        matches!((c, entry.contender),
        (Contender::Raw(of), Contender::Node(kind)) if of == kind)
    });
    let figure = |s: Option<Spread>| s.map_or(NONE.into(), |s| format!("{:.1}", s.median));
    let times = |other: Option<Spread>| match (p50, other) {
        (Some(own), Some(other)) => format!("{:.2}", own.median / other.median),
        _ => NONE.into(),
    };
    let mut row = vec![
        format!("{} {manner}", entry.cell.case.topology),
        entry.contender.to_string(),
        p50.map_or(NONE.into(), |s| spread(s, short)),
        figure(at(entry, 99.0)),
        rarest(entry).map_or(NONE.into(), |micros| format!("{micros:.1}")),
    ];
    for other in [raw, bare] {
        row.extend([figure(other), times(other)]);
    }
    Some(row)
}

/// The p50 of the contender that `is_wanted` says yes to. Answers that go through a queue are compared
/// with the same yardstick as those that do not.
fn yardstick(
    entries: &[Entry],
    entry: &Entry,
    is_wanted: impl Fn(Contender) -> bool,
) -> Option<Spread> {
    let mut entries = entries.iter();
    let found = entries.find(|e| {
        is_wanted(e.contender)
            && e.contender != entry.contender
            && e.cell.case == by_callback(&entry.cell.case)
    });
    at(found?, 50.0)
}

fn by_callback(case: &Case) -> Case {
    let mut case = *case;
    if let Some(manner) = &mut case.manner {
        manner.receiving = Receiving::Callback;
    }
    case
}

fn all(entry: &Entry) -> impl Iterator<Item = &Trips> {
    entry.cell.rounds.iter().filter_map(|round| match round {
        Round::Trips(trips) => Some(trips),
        Round::Flow(_) => None,
    })
}

/// A percentile of each round, in microseconds.
pub fn at(entry: &Entry, percentile: f64) -> Option<Spread> {
    Spread::of(all(entry).map(|trips| trips.micros(percentile)))
}

/// The p99.9 of all rounds together, in microseconds: one round has too few round trips for it.
pub fn rarest(entry: &Entry) -> Option<f64> {
    let mut together = histogram();
    for trips in all(entry) {
        together.add(&trips.histogram).ok()?;
    }
    (!together.is_empty()).then(|| together.value_at_quantile(0.999) as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use zonda::config::RuntimeKind;

    use super::super::plan::entries;
    use super::*;

    fn trips(micros: u64) -> Round {
        let mut histogram = histogram();
        histogram.saturating_record_n(micros * 1000, 9);
        Round::Trips(Trips {
            rate: 1.0,
            histogram,
            costs: Vec::new(),
        })
    }

    #[test]
    fn nodes_stand_beside_their_yardsticks() {
        let only = ["p2p back-to-back".to_owned()];
        let mut all = entries(&[RuntimeKind::Smol], &only);
        for entry in &mut all {
            let by_queue = entry.cell.case != by_callback(&entry.cell.case);
            let micros: &[u64] = match entry.contender {
                Contender::Node(_) if by_queue => &[60],
                Contender::Node(_) => &[30, 40, 20],
                Contender::Raw(_) => &[20],
                Contender::Bare => &[15],
            };
            entry.cell.rounds = micros.iter().map(|m| trips(*m)).collect();
        }
        let text = table_of(&all).expect("a table");
        let rows: Vec<Vec<&str>> = text
            .lines()
            .skip(2)
            .map(|l| l.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        let expected = [
            "p2p back-to-back callback | smol | 30.0 (20.0..40.0) | 30.0 | 40.0 | 20.0 | 1.50 | 15.0 | 2.00",
            "p2p back-to-back callback | bare | 15.0 | 15.0 | 15.0 | - | - | - | -",
            "p2p back-to-back queue | smol | 60.0 | 60.0 | 60.0 | 20.0 | 3.00 | 15.0 | 4.00",
        ];
        let expected = expected.map(|row| row.split(" | ").collect::<Vec<_>>());
        assert_eq!(rows, expected);
    }
}
