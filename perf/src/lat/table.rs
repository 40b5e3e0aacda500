// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables that `perf lat` prints, in a form that can be pasted into a Markdown page.

use zonda_program::table;

use super::plan::Entry;
use super::round::{MAX, PERCENTILES};
use crate::record::Cell;
use crate::result::Spread;
use crate::table::{NONE, by_role, nanos, short};

/// A rate below this share of the wanted one is marked.
const REACHED: f64 = 0.98;
/// The payload of one batch, which a message of another priority may have to wait for.
pub const BATCH_BITS: f64 = 64.0 * 1024.0 * 8.0;

/// All entries, each beside the systems `references`.
pub fn latencies(entries: &[Entry], references: &[&str]) -> String {
    let columns = [
        "case",
        "system",
        "msg/s",
        "p50 µs",
        "min..max",
        "p90",
        "p99",
        "p99.9",
        "max",
        "CPU %",
        "CPU ns/msg",
        "faults",
    ];
    let mut header = columns.map(String::from).to_vec();
    header.extend(references.iter().map(|r| format!("p50 / {r}")));
    let mut last = String::new();
    let rows = entries.iter().map(|entry| {
        let case = entry.case.to_string();
        let name = match case == last {
            true => String::new(),
            false => case.clone(),
        };
        last = case;
        let mut row = vec![name, entry.cell.system.clone()];
        row.extend(figures(entry));
        row.extend(references.iter().map(|other| times(entries, entry, other)));
        row
    });
    table(header, rows, 2..)
}

fn figures(entry: &Entry) -> Vec<String> {
    let cell = &entry.cell;
    let mut all = vec![rate(entry)];
    let micros = |name| cell.median(name).map_or(NONE.into(), |m| format!("{m:.1}"));
    all.push(micros("p50"));
    all.push(cell.spread("p50").map_or(NONE.into(), range));
    all.extend(PERCENTILES.iter().skip(1).map(|(name, _)| micros(name)));
    all.push(micros(MAX));
    all.push(by_role(cell, "cpu_percent", |s| format!("{:.0}", s.median)));
    all.push(by_role(cell, "cpu", |s| nanos(s.median)));
    all.push(faults(cell));
    all
}

/// The achieved rate; with its share of the wanted one where it falls short.
fn rate(entry: &Entry) -> String {
    let Some(rate) = entry.cell.median("rate") else {
        return NONE.into();
    };
    match entry.case.rate.0 {
        Some(wanted) if rate < wanted * REACHED => {
            format!("{} ({:.0}%)", short(rate), 100.0 * rate / wanted)
        }
        _ => short(rate),
    }
}

fn range(s: Spread) -> String {
    format!("{:.1}..{:.1}", s.min, s.max)
}

/// Messages of all rounds that were lost, came twice, or came out of order.
pub fn fault_counts(cell: &Cell) -> [u64; 3] {
    ["lost", "duplicated", "reordered"].map(|name| {
        let rounds = cell.metrics.get(name).map(|m| m.rounds.iter().sum::<f64>());
        rounds.unwrap_or_default() as u64
    })
}

fn faults(cell: &Cell) -> String {
    match fault_counts(cell) {
        _ if cell.metrics.is_empty() => NONE.into(),
        [0, 0, 0] => "0".into(),
        [lost, duplicated, reordered] => {
            format!("{lost} lost, {duplicated} dup, {reordered} order")
        }
    }
}

/// The median latency in multiples of another system's.
fn times(entries: &[Entry], entry: &Entry, other: &str) -> String {
    let beside = entries.iter().find(|e| {
        e.cell.system == other && e.case == entry.case && e.cell.system != entry.cell.system
    });
    let figures = beside.and_then(|o| Some(entry.cell.median("p50")? / o.cell.median("p50")?));
    figures.map_or(NONE.into(), |times| format!("{times:.2}"))
}

/// What a load on the same link does to the latency beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beside {
    /// p99 without the load, in microseconds.
    pub unloaded: f64,
    /// p99 with it.
    pub loaded: f64,
    /// What the load moves, in bits per second.
    pub rate: f64,
}

impl Beside {
    /// Of an entry with a load, and the one that is the same without it.
    pub fn of(entries: &[Entry], entry: &Entry) -> Option<Beside> {
        entry.case.load?;
        let mut case = entry.case;
        case.load = None;
        let alone = entries
            .iter()
            .find(|e| e.contender == entry.contender && e.case == case)?;
        Some(Beside {
            unloaded: alone.cell.median("p99")?,
            loaded: entry.cell.median("p99")?,
            rate: entry.cell.median("load").filter(|rate| *rate > 0.0)?,
        })
    }

    /// How long one batch is under way at the rate of the load, in microseconds.
    pub fn batch(&self) -> f64 {
        BATCH_BITS / self.rate * 1e6
    }

    /// What the p99 should not exceed: that without the load, and one batch that may be ahead.
    pub fn bound(&self) -> f64 {
        self.unloaded + self.batch()
    }
}

/// One row for each entry with a load; `None` if there is no such entry.
pub fn loads(entries: &[Entry]) -> Option<String> {
    let columns = [
        "case",
        "system",
        "load Gb/s",
        "p99 alone µs",
        "one batch",
        "bound",
        "p99 beside",
        "kept",
    ];
    let row = |entry: &Entry| {
        let beside = Beside::of(entries, entry)?;
        let kept = match beside.loaded <= beside.bound() {
            true => "yes".to_owned(),
            false => format!("no, {:.1} times", beside.loaded / beside.bound()),
        };
        let micros = |m: f64| format!("{m:.1}");
        Some(vec![
            entry.case.to_string(),
            entry.cell.system.clone(),
            format!("{:.2}", beside.rate / 1e9),
            micros(beside.unloaded),
            micros(beside.batch()),
            micros(beside.bound()),
            micros(beside.loaded),
            kept,
        ])
    };
    let rows: Vec<Vec<String>> = entries.iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| table(columns, rows, 2..))
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Case, Contender};
    use super::super::rates::Rate;
    use super::*;
    use crate::case::Topology;
    use crate::record::Better::Lower;
    use crate::system::System;

    fn entry(name: &str, load: Option<usize>, figures: &[(&str, &[f64])]) -> Entry {
        let contender = Contender {
            system: System::Bare {
                executable: "zonda".into(),
            },
            name: name.into(),
            spin_us: None,
        };
        let case = Case {
            topology: Topology::PeerToPeer,
            size: 64,
            rate: Rate(Some(1000.0)),
            load,
        };
        let mut entry = Entry::new(&contender, case);
        for (name, rounds) in figures {
            for figure in *rounds {
                entry.cell.add(name, "", Lower, *figure);
            }
        }
        entry
    }

    fn rows(text: &str) -> Vec<Vec<&str>> {
        text.lines()
            .skip(2)
            .map(|l| l.trim_matches('|').split('|').map(str::trim).collect())
            .collect()
    }

    #[test]
    fn systems_stand_beside_each_other() {
        let ours: [(&str, &[f64]); 6] = [
            ("p50", &[20.0, 30.0, 25.0]),
            ("rate", &[999.0, 800.0, 700.0]),
            ("cpu_sender", &[1000.0]),
            ("cpu_receiver", &[20_000.0]),
            ("cpu_percent_sender", &[12.4]),
            ("lost", &[0.0, 2.0]),
        ];
        let bare: [(&str, &[f64]); 2] = [("p50", &[10.0]), ("rate", &[1000.0])];
        let all = [
            entry("zonda", None, &ours),
            entry("bare sockets", None, &bare),
        ];
        let text = latencies(&all, &["bare sockets", "zenoh"]);
        let expected = [
            "p2p 64B 1k/s | zonda | 800 (80%) | 25.0 | 20.0..30.0 | - | - | - | - | 12 | 1000 / 20.0k | \
             2 lost, 0 dup, 0 order | 2.50 | -",
            "| bare sockets | 1.00k | 10.0 | 10.0..10.0 | - | - | - | - | - | - | 0 | - | -",
        ];
        let expected = expected.map(|r| r.split('|').map(str::trim).collect::<Vec<_>>());
        assert_eq!(rows(&text), expected);
    }

    #[test]
    fn a_load_is_held_against_its_bound() {
        let alone = entry("zonda", None, &[("p99", &[100.0])]);
        // 64 KiB at 5.24288 Gb/s take 100 us
        let load: (&str, &[f64]) = ("load", &[5.242_88e9]);
        for (p99, kept) in [(199.0, "yes"), (400.0, "no, 2.0 times")] {
            let loaded = entry("zonda", Some(10 << 20), &[("p99", &[p99]), load]);
            let text = loads(&[alone.clone(), loaded]).expect("a row");
            let p99 = format!("{p99:.1}");
            let expected = ["5.24", "100.0", "100.0", "200.0", &p99, kept];
            assert_eq!(rows(&text)[0][2..], expected);
        }
        assert_eq!(loads(&[alone]), None);
    }
}
