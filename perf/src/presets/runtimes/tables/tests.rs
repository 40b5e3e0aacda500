// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests: tables of made-up rounds.

use std::time::Duration;

use zonda::config::RuntimeKind::{Smol, Tokio};

use super::super::advice::advice;
use super::super::advice::tests::measured;
use super::super::cells;
use super::*;
use crate::link::LinkArgs;
use crate::record::Better;
use crate::system::{Kind, Span};
use crate::table::tests::rows;

#[test]
fn runtimes_are_rows_and_sizes_are_columns() {
    let all = measured(&[(Tokio, &[100e3, 80e3, 90e3]), (Smol, &[45e3])]);
    let text = throughput(&all, Topology::PeerToPeer).expect("a table");
    assert!(text.starts_with("| runtime |"), "{text}");
    let rows = rows(&text);
    let expected = ["tokio", "90.0k (80.0k..100k) 100%", "900 (800..1.00k) 100%"];
    assert_eq!(rows[0], expected);
    assert_eq!(rows[1], ["smol", "45.0k 50%", "450 50%"]);
    assert_eq!(rows[2], ["bare", "-", "-"]);
    assert_eq!(throughput(&all, Topology::Routed), None);
}

#[test]
fn costs_are_told_for_each_program() {
    let all = measured(&[(Tokio, &[1e6]), (Smol, &[2e6])]);
    let text = seconds(&all).expect("a table");
    assert_eq!(rows(&text)[0], ["tokio", "2.00", "2.00"]);
    let text = resources(&all).expect("a table");
    let expected = ["throughput p2p 8B", "tokio", "-", "-", "3 / 3", "2.0 / 2.0"];
    assert_eq!(rows(&text)[0], expected);
}

#[test]
fn what_to_take_names_those_that_are_as_good() {
    let all = measured(&[
        (Tokio, &[10e3, 11e3, 12e3, 13e3]),
        (Smol, &[20e3, 21e3, 22e3, 23e3]),
    ]);
    let text = recommended(&advice(&all)).expect("a table");
    let expected = [
        "throughput",
        "smol",
        "2.15k msg/s",
        "-",
        "tokio 1.87x (p 0.03)",
    ];
    assert_eq!(rows(&text)[0], expected);
    let all = measured(&[(Tokio, &[10e3, 11e3]), (Smol, &[20e3, 21e3])]);
    let text = recommended(&advice(&all)).expect("a table");
    assert_eq!(rows(&text)[0][3..], ["tokio 1.95x (p 0.33)", "-"]);
}

#[test]
fn nodes_stand_beside_their_yardsticks() {
    let span = Span::after_half(Duration::from_secs(1));
    let mut all = cells(&[Smol], span, LinkArgs::default());
    all.retain(|entry| entry.is_wanted(&["p2p back-to-back".to_owned()]));
    for entry in &mut all {
        let trips = entry.scenario.trips().expect("round trips");
        let by_queue = trips.receiving == Some(Receiving::Queue);
        let micros: &[u64] = match entry.system.kind {
            Kind::Zonda(_) if by_queue => &[60],
            Kind::Zonda(_) => &[30, 40, 20],
            Kind::Raw(_) => &[20],
            _ => &[15],
        };
        for micros in micros {
            for metric in ["p50", "p99"] {
                entry.cell.add(metric, "us", Better::Lower, *micros as f64);
            }
            entry.cell.nanos_times.push(vec![(micros * 1000, 9)]);
        }
    }
    let text = round_trips(&all).expect("a table");
    let expected = [
        "p2p back-to-back callback|smol|30.0 (20.0..40.0)|30.0|40.0|20.0|1.50|15.0|2.00",
        "|bare|15.0|15.0|15.0|-|-|-|-",
        "p2p back-to-back queue|smol|60.0|60.0|60.0|20.0|3.00|15.0|4.00",
    ];
    assert_eq!(
        rows(&text),
        expected.map(|row| row.split('|').collect::<Vec<_>>())
    );
}

#[test]
fn rare_figures_keep_three_places() {
    assert_eq!(
        [0.0, 1e-5, 0.0123, 2.0].map(rare),
        ["0", "<0.001", "0.012", "2.000"]
    );
}
