// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table that `perf thr` prints, in a form that can be pasted into a Markdown page.

use super::plan::system_name;
use crate::case::bytes;
use crate::record::{Cell, Record};
use crate::system::Span;
use crate::table::{NONE, by_role, nanos, range, short};

/// One row per cell. `references` are the systems that get a column of ratios.
pub fn table(record: &Record, references: &[&str]) -> String {
    let fixed = [
        "case",
        "size",
        "system",
        "msg/s",
        "min..max",
        "Gb/s",
        "CPU ns/msg",
        "peak MiB",
    ];
    let mut header: Vec<String> = fixed.map(String::from).into();
    header.extend(references.iter().map(|reference| {
        // the first word says it
        format!("x {}", reference.split(' ').next().unwrap_or_default())
    }));
    let mut last: Option<&Cell> = None;
    let rows = record.cells.iter().map(|cell| {
        let is_new = last.is_none_or(|last| last.case != cell.case || last.x != cell.x);
        last = Some(cell);
        row(record, cell, is_new, references)
    });
    zonda_program::table(header, rows, 3..)
}

fn row(record: &Record, cell: &Cell, is_new: bool, references: &[&str]) -> Vec<String> {
    let size = cell.x.as_ref().map_or(0.0, |x| x.value);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NONE.into());
    let rate = cell.spread("rate");
    let (case, of_size) = match is_new {
        true => (cell.case.clone(), bytes(size as usize)),
        false => (String::new(), String::new()),
    };
    let mut row = vec![
        case,
        of_size,
        cell.system.clone(),
        or_none(rate.map(|r| short(r.median))),
        or_none(rate.map(|r| range(r.min, r.max))),
        or_none(rate.map(|r| format!("{:.2}", r.median * size * 8.0 / 1e9))),
        by_role(cell, "cpu", |spread| nanos(spread.median)),
        by_role(cell, "rss", |spread| short(spread.max / 1024.0)),
    ];
    row.extend(references.iter().map(|reference| {
        let other = record.beside(cell, reference);
        let other = other.filter(|other| other.system != cell.system);
        let ratio = other.and_then(|o| Some(rate?.median / o.median("rate")?));
        or_none(ratio.map(|x| format!("{x:.2}")))
    }));
    row
}

/// How it was measured, and what the check has found.
pub fn legend(record: &Record, rounds: u32, span: Span) -> String {
    let mut text = format!(
        "median of {rounds} rounds of {} s after {} s, all programs started anew in each, systems in turn. \
         CPU ns/msg and peak MiB: sender / router / receiver. x: times the throughput.",
        span.seconds, span.warm_up
    );
    let zonda = record
        .cells
        .iter()
        .filter(|c| c.system == system_name::ZONDA);
    let sum = |metric: &str| -> f64 {
        let metrics = zonda.clone().filter_map(|cell| cell.metrics.get(metric));
        // a sum of nothing is -0
        metrics.flat_map(|metric| &metric.rounds).sum::<f64>() + 0.0
    };
    let [offered, delivered, dropped, lost, duplicated, reordered] = [
        "offered",
        "delivered",
        "dropped",
        "lost",
        "duplicated",
        "reordered",
    ]
    .map(sum);
    text += &format!(
        "\ncheck of zonda's messages: {offered} offered, {delivered} delivered, {lost} lost \
         ({dropped} counted as dropped), {duplicated} duplicated, {reordered} reordered."
    );
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::record::Better;

    fn record() -> Record {
        let mut record = Record::begin("thr", Map::new());
        for (system, rates) in [
            (system_name::ZONDA, &[3e6, 1e6, 2e6][..]),
            (system_name::BARE, &[4e6]),
            (system_name::ZENOH, &[]),
        ] {
            let mut cell = Cell::new(system, "p2p").at("size", "B", 1024.0);
            for rate in rates {
                cell.add("rate", "msg/s", Better::Higher, *rate);
                cell.add("cpu_sender", "ns/msg", Better::Lower, 41.6);
                cell.add("cpu_receiver", "ns/msg", Better::Lower, 12_000.0);
                cell.add("rss_sender", "KiB", Better::Lower, 10_240.0);
                cell.add("offered", "msg", Better::Neither, 7.0);
            }
            record.cells.push(cell);
        }
        record
    }

    #[test]
    fn rows_stand_beside_each_other() {
        let record = record();
        let text = table(&record, &[system_name::BARE, system_name::ZENOH]);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .skip(2)
            .map(|l| l.split('|').map(str::trim).collect())
            .collect();
        let expected = [
            "p2p",
            "1KiB",
            "zonda",
            "2.00M",
            "1.00M..3.00M",
            "16.38",
            "42 / 12.0k",
            "10.0",
            "0.50",
            "-",
        ];
        assert_eq!(rows[0][1..11], expected, "{text}");
        assert_eq!(rows[1][1..6], ["", "", "bare sockets", "4.00M", "-"]);
        assert_eq!(rows[2][3..11], ["zenoh", "-", "-", "-", "-", "-", "-", "-"]);
        let span = Span {
            warm_up: 0.5,
            seconds: 1.0,
        };
        let told = legend(&record, 3, span);
        assert!(told.contains("21 offered"), "{told}");
        let told = legend(&Record::begin("thr", Map::new()), 3, span);
        assert!(told.contains("messages: 0 offered"), "{told}");
    }
}
