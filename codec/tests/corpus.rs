// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replays the fuzzers' corpus, and the golden vectors, through the very functions the fuzz targets call.

use zonda_testkit::{alike, checks, json, replay, spelled};

#[test]
fn transport_corpus() {
    assert!(replay("transport", checks::transport) > 100);
}

#[test]
fn network_corpus() {
    assert!(replay("network", checks::network) > 100);
}

#[test]
fn scouting_corpus() {
    assert!(replay("scouting", checks::scouting) > 20);
}

#[test]
fn key_expr_corpus() {
    assert!(replay("key_expr", checks::key_expr) > 100);
}

#[test]
fn spelled_corpus() {
    assert!(replay("spelled", spelled::spelled) > 4);
}

/// Messages that runs yield are those that reading one by one yields.
#[test]
fn corpora_of_runs() {
    assert!(replay("runs", alike::runs) > 4);
    assert!(replay("likeness", alike::likeness) > 4);
}

/// Every vector, and every vector with one bit flipped or cut short, through the check of its layer.
#[test]
fn vectors_whole_and_damaged() {
    let mut checked = 0;
    for vector in &json::golden_vectors() {
        let check = match vector["layer"].as_str() {
            Some("transport" | "batch") => checks::transport,
            Some("network") => checks::network,
            Some("scouting") => checks::scouting,
            Some("keyexpr") => checks::key_expr,
            _ => continue,
        };
        let data = json::unhex(vector["hex"].as_str().expect("hex"));
        check(&data);
        for at in 0..data.len().min(200) {
            check(&data[..at]);
            for bit in [0x01, 0x08, 0x20, 0x80] {
                let mut damaged = data.clone();
                damaged[at] ^= bit;
                check(&damaged);
            }
        }
        checked += 1;
    }
    assert!(checked > 1000, "{checked}");
}
