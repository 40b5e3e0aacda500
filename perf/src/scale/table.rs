// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table: a row for each figure, a column for each system.

use crate::record::Cell;
use crate::result::Spread;
use crate::table::{NONE, spread};

/// The figures of each case in their order, with their names in the record.
const ROWS: [(&str, &str, &str); 15] = [
    ("connections", "cpu_idle", "CPU, idle"),
    ("connections", "memory_each", "memory of each"),
    ("connections", "cpu_connect_each", "CPU to connect one"),
    ("connections", "threads", "threads"),
    ("subscriptions", "declare_cpu", "CPU to declare all"),
    ("subscriptions", "declare_time", "time to declare all"),
    ("subscriptions", "memory_each", "memory of each"),
    (
        "subscriptions",
        "route_cpu_one",
        "CPU of a routed message, with one",
    ),
    (
        "subscriptions",
        "route_cpu_many",
        "CPU of a routed message, with all",
    ),
    ("subscriptions", "wildcard_time", "wildcard over all, time"),
    ("subscriptions", "wildcard_cpu", "wildcard over all, CPU"),
    ("subscriptions", "leave_cpu", "CPU when all leave"),
    (
        "subscriptions",
        "wait_usual",
        "longest wait of others, usual",
    ),
    (
        "subscriptions",
        "wait_leaving",
        "longest wait of others, leaving",
    ),
    ("subscriptions", "memory_after", "memory when all have left"),
];

/// One row for each figure that was taken.
pub fn table(cells: &[Cell]) -> String {
    let mut systems: Vec<&str> = Vec::new();
    for cell in cells {
        if !systems.contains(&cell.system.as_str()) {
            systems.push(&cell.system);
        }
    }
    let mut header = vec!["of".to_owned(), "what".to_owned(), "unit".to_owned()];
    header.extend(systems.iter().map(|&system| system.to_owned()));
    header.extend(systems.iter().skip(1).map(|system| format!("x {system}")));
    let mut rows = Vec::new();
    let mut last = "";
    for (case, metric, what) in ROWS {
        let of_case: Vec<&Cell> = cells.iter().filter(|cell| cell.case == case).collect();
        let find = |system: &&str| of_case.iter().find(|cell| cell.system == **system);
        let Some(unit) = of_case.iter().find_map(|cell| cell.metrics.get(metric)) else {
            continue;
        };
        let spreads: Vec<Option<Spread>> = systems
            .iter()
            .map(|system| find(system)?.spread(metric))
            .collect();
        let title = of_case.first().and_then(|cell| cell.x.as_ref());
        let title = title.map_or(String::new(), |x| format!("{} {case}", x.value));
        let mut row = vec![
            if last == case { String::new() } else { title },
            what.to_owned(),
            unit.unit.clone(),
        ];
        last = case;
        row.extend(
            spreads
                .iter()
                .map(|s| s.map_or(NONE.into(), |s| spread(s, figure))),
        );
        let own = spreads.first().copied().flatten();
        row.extend(spreads.iter().skip(1).map(|other| match (own, other) {
            (Some(own), Some(other)) if own.median > 0.0 => {
                format!("{:.2}", other.median / own.median)
            }
            _ => NONE.into(),
        }));
        rows.push(row);
    }
    zonda_program::table(header, rows, 3..)
}

/// Three digits that count.
fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Better::Lower;

    #[test]
    fn systems_stand_beside_each_other() {
        let cell = |system: &str, figures: &[f64]| {
            let mut cell = Cell::new(system, "connections").at("connections", "", 1000.0);
            for figure in figures {
                cell.add("memory_each", "KiB", Lower, *figure);
            }
            cell
        };
        let text = table(&[cell("zonda", &[20.0, 30.0, 10.0]), cell("zenoh", &[200.0])]);
        let row = text.lines().find(|line| line.contains("memory of each"));
        let row: Vec<&str> = row.expect("a row").split('|').map(str::trim).collect();
        let expected = [
            "1000 connections",
            "memory of each",
            "KiB",
            "20.0 (10.0..30.0)",
            "200",
            "10.00",
        ];
        assert_eq!(row[1..7], expected);
        assert!(
            !text.contains("idle"),
            "rows without figures are left out: {text}"
        );
    }
}
