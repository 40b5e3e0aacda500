// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests: significant differences are found, and records that cannot be compared are refused.

use serde_json::{Map, json};

use super::comparable::differences;
use super::difference::{Change, Choice, Comparison};
use super::table;
use crate::record::{Better, Cell, Record};

const ALL: Choice<'static> = Choice {
    metrics: &[],
    only: &[],
    level: 0.05,
};

fn record(cells: &[(&str, f64)]) -> Record {
    let mut record = Record::begin("thr", Map::from_iter([("seconds".into(), json!(1))]));
    for (system, rate) in cells {
        let mut cell = Cell::new(*system, "p2p").at("size", "B", 8.0);
        for round in 0..8 {
            let spread = 1.0 + f64::from(round) / 100.0;
            cell.add("rate", "msg/s", Better::Higher, rate * spread);
            cell.add("cpu_sender", "ns/msg", Better::Lower, 1e9 / rate * spread);
            cell.add("lost", "msg", Better::Lower, 0.0);
            cell.add("offered", "msg", Better::Neither, rate * spread);
        }
        record.cells.push(cell);
    }
    record
}

#[test]
fn equal_records_do_not_differ() {
    let before = record(&[("zonda", 1e6), ("bare sockets", 1e7)]);
    let same = Comparison::of(&before, &before, &ALL);
    assert_eq!((same.own.len(), same.yardsticks.len()), (3, 3));
    assert_eq!(same.worse(), 0);
    assert!(same.notes().is_empty(), "{:?}", same.notes());
    assert!(table::summary(&same).starts_with("no difference"));
    assert_eq!(table::table(&same, false), None);
    let all = table::table(&same, true).expect("it has rows");
    assert_eq!(all.lines().count(), 8);
}

#[test]
fn better_and_worse_are_told_by_the_direction_of_a_metric() {
    let (slow, fast) = (record(&[("zonda", 1e6)]), record(&[("zonda", 2e6)]));
    let changes = |before, after| -> Vec<(String, Change)> {
        let comparison = Comparison::of(before, after, &ALL);
        let own = comparison.own.into_iter();
        own.map(|d| (d.metric.to_owned(), d.change)).collect()
    };
    let all = |change| {
        vec![
            ("cpu_sender".to_owned(), change),
            ("lost".to_owned(), Change::None),
            ("rate".to_owned(), change),
        ]
    };
    assert_eq!(changes(&slow, &fast), all(Change::Better));
    assert_eq!(changes(&fast, &slow), all(Change::Worse));
    let text = table::table(&Comparison::of(&fast, &slow, &ALL), false).expect("it has rows");
    assert!(text.contains("-50.0 %") && text.contains("WORSE"), "{text}");
}

#[test]
fn yardsticks_are_told_but_not_counted() {
    let before = record(&[("zonda", 1e6), ("zenoh", 1e6)]);
    let after = record(&[("zonda", 1e6), ("zenoh", 5e5)]);
    let comparison = Comparison::of(&before, &after, &ALL);
    assert_eq!(comparison.worse(), 0);
    let notes = comparison.notes();
    assert!(notes.iter().any(|n| n.contains("yardsticks")), "{notes:?}");
}

#[test]
fn a_cell_that_cannot_be_measured_any_more_is_worse() {
    let before = record(&[("zonda", 1e6), ("node", 1e6)]);
    let mut after = record(&[("zonda", 1e6)]);
    let mut failed = Cell::new("node", "p2p").at("size", "B", 8.0);
    failed.fail("it ended early");
    after.cells.push(failed);
    after.cells.push(Cell::new("zonda", "routed"));
    let comparison = Comparison::of(&before, &after, &ALL);
    assert_eq!(comparison.worse(), 1);
    let notes = comparison.notes().join("; ");
    assert!(notes.contains("it ended early"), "{notes}");
    assert!(
        notes.contains("zonda routed is in the second only"),
        "{notes}"
    );
}

#[test]
fn a_choice_asks_less() {
    let (before, after) = (
        record(&[("zonda", 1e6), ("node", 1e6)]),
        record(&[("zonda", 9e5), ("node", 9e5)]),
    );
    let choice = Choice {
        metrics: &["rate".to_owned()],
        only: &["node P2P".to_owned()],
        level: 0.05,
    };
    let comparison = Comparison::of(&before, &after, &choice);
    assert_eq!((comparison.own.len(), comparison.worse()), (1, 1));
    let nothing = Choice {
        only: &["routed".to_owned()],
        ..ALL
    };
    assert!(Comparison::of(&before, &after, &nothing).is_empty());
}

#[test]
fn too_few_rounds_say_so() {
    let mut before = record(&[("zonda", 1e6)]);
    for metric in before.cells[0].metrics.values_mut() {
        metric.rounds.truncate(3);
    }
    let notes = Comparison::of(&before, &before, &ALL).notes();
    assert!(
        notes.iter().any(|n| n.contains("take 5 rounds or more")),
        "{notes:?}"
    );
}

#[test]
fn every_reason_is_named() {
    let before = record(&[]);
    assert!(differences(&before, &before).is_empty());
    let mut after = before.clone();
    after.tool = "lat".into();
    after.machine["kernel"] = json!("9.9");
    after.machine["load_average"] = json!([7.0]);
    after.build["profile"] = json!("other");
    after.build["version"] = json!("9.9");
    after.settings.insert("seconds".into(), json!(2));
    after.settings.insert("rounds".into(), json!(5));
    let found = differences(&before, &after);
    let names: Vec<&str> = found
        .iter()
        .map(|f| f.split(" is ").next().unwrap_or_default())
        .collect();
    assert_eq!(
        names,
        [
            "tool",
            "machine kernel",
            "build profile",
            "setting rounds",
            "setting seconds"
        ]
    );
    assert!(found[3].ends_with("is null and 5"), "{found:?}");
}
