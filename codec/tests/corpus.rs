// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replays the fuzzers' corpus, and the golden vectors, through the very functions the fuzz targets call.

#[path = "../../fuzz/src/checks.rs"]
mod checks;
#[path = "../../fuzz/src/replay.rs"]
mod replay;

use replay::replay;

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

/// Every vector, and every vector with one bit flipped or cut short, through the check of its layer.
#[test]
fn vectors_whole_and_damaged() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/vectors.json");
    let text = std::fs::read_to_string(path).expect("the golden vectors are part of the project");
    let all: Vec<serde_json::Value> = serde_json::from_str(&text).expect("the vectors are json");
    let mut checked = 0;
    for vector in &all {
        let check = match vector["layer"].as_str() {
            Some("transport" | "batch") => checks::transport,
            Some("network") => checks::network,
            Some("scouting") => checks::scouting,
            Some("keyexpr") => checks::key_expr,
            _ => continue,
        };
        let data = bytes_of(vector["hex"].as_str().expect("hex"));
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

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .map(|digit| digit.to_digit(16).expect("a hex digit") as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}
