// SPDX-License-Identifier: MIT OR Apache-2.0
//! The medians of the curves as a table: a row for each point, a column for each system.

use crate::page::Unit;
use crate::rank::p_value;
use crate::record::{Cell, Record, X};
use crate::result::Spread;
use crate::table::{NONE, short};
use crate::thr::plan::system_name::{NODE, ZONDA};

/// What the figures are.
pub const LEGEND: &str = "Medians. Throughput in messages per second; latency in microseconds, p50 / p99 of the round \
                          trip. session: what the session adds to the node's CPU time per message, of sender and \
                          receiver together; in brackets where it may be chance (rank test over the rounds, 5 %).";
/// A difference that chance makes more often than this is in brackets.
const CHANCE: f64 = 0.05;

/// All points.
pub fn table(record: &Record) -> String {
    let mut systems: Vec<&str> = Vec::new();
    let mut rows: Vec<&Cell> = Vec::new();
    for cell in &record.cells {
        if !systems.contains(&cell.system.as_str()) {
            systems.push(&cell.system);
        }
        if !rows.iter().any(|c| c.case == cell.case && c.x == cell.x) {
            rows.push(cell);
        }
    }
    let head = ["case", "at"].into_iter().chain(systems.iter().copied());
    let lines = rows.into_iter().map(|row| {
        let x = row.x.as_ref().map(place);
        let mut line = vec![row.case.clone(), x.unwrap_or_default()];
        let of = |system: &str| {
            let same = |c: &&Cell| c.system == system && c.case == row.case && c.x == row.x;
            record.cells.iter().find(same)
        };
        line.extend(
            systems
                .iter()
                .map(|system| of(system).map_or(NONE.into(), figure)),
        );
        line.push(
            of(ZONDA)
                .zip(of(NODE))
                .map_or(NONE.into(), |(a, b)| price(a, b)),
        );
        line
    });
    zonda_program::table(head.chain(["session"]), lines, 1..)
}

fn place(x: &X) -> String {
    match Unit::named(&x.unit) {
        Unit::Count => format!("{} {}", Unit::Count.label(x.value), x.unit),
        unit => unit.label(x.value),
    }
}

fn figure(cell: &Cell) -> String {
    match (cell.median("p50"), cell.median("p99")) {
        (Some(p50), Some(p99)) => format!("{p50:.1} / {p99:.1}"),
        _ => cell.median("rate").map_or(NONE.into(), short),
    }
}

/// What the session adds, in nanoseconds of a processor.
fn price(session: &Cell, node: &Cell) -> String {
    let (session, node) = (cpu(session), cpu(node));
    let median = |rounds: &[f64]| Some(Spread::of(rounds.iter().copied())?.median);
    let (Some(with), Some(without)) = (median(&session), median(&node)) else {
        return NONE.into();
    };
    let difference = with - without;
    let sign = if difference < 0.0 { '-' } else { '+' };
    let more = format!("{sign}{}", Unit::Nanos.label(difference.abs()));
    match p_value(&session, &node) < CHANCE {
        true => more,
        false => format!("({more})"),
    }
}

/// CPU time per message of both ends together, round by round.
fn cpu(cell: &Cell) -> Vec<f64> {
    let rounds = |name| cell.metrics.get(name).map(|metric| metric.rounds.iter());
    let both = rounds("cpu_sender").zip(rounds("cpu_receiver"));
    both.map_or_else(Vec::new, |(a, b)| a.zip(b).map(|(a, b)| a + b).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::record::Better;

    #[test]
    fn systems_stand_beside_each_other() {
        let mut record = Record::begin("curves", Map::new());
        for (system, rate, rounds) in [
            (ZONDA, 2e7, [30.0, 28.0, 29.0, 29.5]),
            (NODE, 2.5e7, [24.0, 23.0, 23.5, 23.6]),
        ] {
            let mut cell = Cell::new(system, "throughput p2p").at("size", "B", 8.0);
            for cpu in rounds {
                cell.add("rate", "msg/s", Better::Higher, rate);
                cell.add("cpu_sender", "ns/msg", Better::Lower, cpu);
                cell.add("cpu_receiver", "ns/msg", Better::Lower, cpu);
            }
            record.cells.push(cell);
        }
        let mut alone = Cell::new("bare sockets", "latency p2p 64B back to back");
        alone.add("p50", "us", Better::Lower, 20.0);
        alone.add("p99", "us", Better::Lower, 30.0);
        record.cells.push(alone);
        let table = table(&record);
        let lines: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        let first = [
            "",
            "throughput p2p",
            "8 B",
            "20.0M",
            "25.0M",
            "-",
            "+11.4 ns",
            "",
        ];
        assert_eq!(lines[2], first, "{table}");
        let second = [
            "",
            "latency p2p 64B back to back",
            "",
            "-",
            "-",
            "20.0 / 30.0",
            "-",
            "",
        ];
        assert_eq!(lines[3], second, "{table}");
        let (mut session, node) = (record.cells[0].clone(), &record.cells[1]);
        for end in ["cpu_sender", "cpu_receiver"] {
            session.add(end, "ns/msg", Better::Lower, 20.0);
        }
        assert_eq!(price(&session, node), "(+10.9 ns)");
    }
}
