// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of made-up rounds.

use zonda::config::RuntimeKind::{Smol, Tokio};

use super::super::advice::advice;
use super::super::advice::tests::measured;
use super::*;

fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|l| l.starts_with('|'));
    lines
        .map(|l| l.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

#[test]
fn runtimes_are_rows_and_sizes_are_columns() {
    let all = measured(&[(Tokio, &[100e3, 80e3, 90e3]), (Smol, &[45e3])]);
    let text = throughput(&all, Topology::PeerToPeer).expect("a table");
    let rows = rows(&text);
    assert_eq!(rows[0], ["runtime", "8B", "1KiB"]);
    assert_eq!(
        rows[2],
        ["tokio", "90.0k (80.0k..100k) 100%", "900 (800..1.00k) 100%"]
    );
    assert_eq!(rows[3], ["smol", "45.0k 50%", "450 50%"]);
    assert_eq!(rows[4], ["bare", "-", "-"]);
    assert_eq!(throughput(&all, Topology::Routed), None);
}

#[test]
fn costs_are_told_for_each_program() {
    let all = measured(&[(Tokio, &[1e6]), (Smol, &[2e6])]);
    let text = seconds(&all).expect("a table");
    assert_eq!(rows(&text)[2], ["tokio", "2.00", "2.00"]);
    let text = resources(&all).expect("a table");
    assert_eq!(
        rows(&text)[2],
        [
            "throughput p2p 8B",
            "tokio",
            "n/a / n/a",
            "n/a / n/a",
            "3 / 3",
            "2.0 / 2.0"
        ]
    );
}

#[test]
fn what_to_take_names_those_that_are_as_good() {
    let all = measured(&[
        (Tokio, &[10e3, 11e3, 12e3, 13e3]),
        (Smol, &[20e3, 21e3, 22e3, 23e3]),
    ]);
    let text = recommended(&advice(&all)).expect("a table");
    assert_eq!(
        rows(&text)[2],
        [
            "throughput",
            "smol",
            "2.15k msg/s",
            "-",
            "tokio 1.87x (p 0.03)"
        ]
    );
    let all = measured(&[(Tokio, &[10e3, 11e3]), (Smol, &[20e3, 21e3])]);
    let text = recommended(&advice(&all)).expect("a table");
    assert_eq!(rows(&text)[2][3..], ["tokio 1.95x (p 0.33)", "-"]);
}

#[test]
fn rare_figures_keep_three_places() {
    assert_eq!(
        [0.0, 1e-5, 0.0123, 2.0].map(rare),
        ["0", "<0.001", "0.012", "2.000"]
    );
}
