// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests: made-up rounds, and the resulting advice.

use std::time::Duration;

use zonda::config::RuntimeKind;

use super::super::cells;
use super::*;
use crate::link::LinkArgs;
use crate::record::Better::{Higher, Lower, Neither};
use crate::system::Span;

const KINDS: [RuntimeKind; 3] = [RuntimeKind::Tokio, RuntimeKind::Smol, RuntimeKind::Threads];

/// Adds a round with this rate and this CPU time in each of two programs.
fn add(cell: &mut Cell, rate: f64, nanos: f64) {
    cell.add("rate", "msg/s", Higher, rate);
    for role in ["sender", "receiver"] {
        cell.add(&format!("cpu_{role}"), "ns/msg", Lower, nanos);
        cell.add(&format!("threads_{role}"), "", Neither, 3.0);
        cell.add(&format!("resident_{role}"), "KiB", Neither, 2048.0);
    }
}

/// Returns throughput of two sizes, in which each runtime has these rates, the second size a
/// hundredth of them.
pub fn measured(rates: &[(RuntimeKind, &[f64])]) -> Vec<Entry> {
    let kinds: Vec<RuntimeKind> = rates.iter().map(|(kind, _)| *kind).collect();
    let only = ["throughput p2p 8B".to_owned(), "throughput p2p 1KiB".into()];
    let span = Span::after_half(Duration::from_secs(1));
    let mut all = cells(&kinds, span, LinkArgs::default());
    all.retain(|entry| entry.is_wanted(&only));
    for entry in &mut all {
        let of_kind = rates
            .iter()
            .find(|(kind, _)| kind.name() == entry.system.name);
        let share = if entry.scenario.size() == 8 {
            1.0
        } else {
            0.01
        };
        for rate in of_kind.map_or(&[][..], |(_, rates)| rates) {
            add(&mut entry.cell, rate * share, 1e9 / rate);
        }
    }
    all
}

fn of<'a>(all: &'a [Advice], name: &str) -> &'a Advice {
    let found = all.iter().find(|a| a.question.name == name);
    found.unwrap_or_else(|| panic!("no answer on {name}"))
}

#[test]
fn the_best_is_told_apart_where_rounds_do_not_overlap() {
    let all = measured(&[
        (KINDS[0], &[100.0, 101.0, 102.0, 103.0, 104.0]),
        (KINDS[1], &[200.0, 201.0, 202.0, 203.0, 204.0]),
        (KINDS[2], &[199.0, 205.0, 201.5, 190.0, 202.5]),
    ]);
    let advice = advice(&all);
    let names: Vec<&str> = advice.iter().map(|a| a.question.name).collect();
    assert_eq!(names, ["throughput", "CPU"]);
    let throughput = of(&advice, "throughput");
    let [best, second, last] = throughput.standings.as_slice() else {
        panic!("three runtimes: {throughput:?}");
    };
    assert_eq!(
        (&*best.runtime, &*second.runtime, &*last.runtime),
        ("smol", "threads", "tokio")
    );
    // the geometric mean of 202 and 2.02
    assert!((best.score.median - 20.2).abs() < 1e-9, "{best:?}");
    assert!(!second.is_behind(), "{second:?}");
    assert!(last.is_behind(), "{last:?}");
    assert!((last.times_worse - 202.0 / 102.0).abs() < 1e-9);
    assert_eq!(throughput.rounds_needed(), None);
    // the CPU time was made up as the reciprocal of the rate
    let cpu = of(&advice, "CPU");
    assert_eq!(cpu.standings[0].runtime, "smol");
    assert!(cpu.standings[2].times_worse > 1.9);
}

#[test]
fn few_rounds_tell_nothing_and_say_so() {
    let all = measured(&[
        (KINDS[0], &[100.0, 101.0, 102.0]),
        (KINDS[1], &[200.0, 201.0, 202.0]),
        (KINDS[2], &[300.0, 301.0, 302.0, 303.0]),
    ]);
    let advice = advice(&all);
    let throughput = of(&advice, "throughput");
    // the fourth round has no counterpart
    assert_eq!(throughput.rounds, 3);
    assert_eq!(throughput.standings[0].runtime, "threads");
    assert!(throughput.standings.iter().all(|s| !s.is_behind()));
    assert_eq!(throughput.rounds_needed(), Some(5));
}

#[test]
fn a_runtime_that_lacks_a_case_is_not_compared() {
    let mut all = measured(&[
        (KINDS[0], &[100.0, 101.0]),
        (KINDS[1], &[200.0, 201.0]),
        (KINDS[2], &[300.0, 301.0]),
    ]);
    let last = all.iter_mut().rfind(|e| e.system.name == KINDS[2].name());
    last.expect("a node").cell.fail("it broke");
    let advice_now = advice(&all);
    let throughput = of(&advice_now, "throughput");
    assert_eq!(throughput.standings.len(), 2);
    assert_eq!(throughput.standings[0].runtime, "smol");
    // a single runtime is not compared
    let alone = measured(&[(KINDS[0], &[100.0])]);
    assert!(advice(&alone).is_empty());
}

#[test]
fn seconds_are_those_of_all_programs() {
    let mut cell = Cell::new("tokio", "throughput p2p");
    assert!(seconds_per_million(&cell).is_empty());
    add(&mut cell, 1.0, 250.0);
    assert_eq!(seconds_per_million(&cell), [0.5]);
}
