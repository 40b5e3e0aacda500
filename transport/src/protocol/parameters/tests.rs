// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;

fn zid(hex: &str) -> ZenohId {
    hex.parse().expect("a valid id")
}

#[test]
fn initial_sequence_numbers_are_the_references() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/vectors.json");
    let text = std::fs::read_to_string(path).expect("the golden vectors");
    let vectors: serde_json::Value = serde_json::from_str(&text).expect("valid JSON");
    let mut checked = 0;
    for vector in vectors.as_array().expect("an array") {
        let decoded = &vector["decoded"];
        if vector["layer"] != "derived" || decoded["initial_sn"].is_null() {
            continue;
        }
        let text = |field: &str| decoded[field].as_str().expect("text").to_owned();
        let bits = decoded["sn_bits"].as_u64().expect("a number");
        let mask = ((1_u64 << bits) - 1) as u32;
        let sn = initial_sn(&zid(&text("self_zid")), &zid(&text("peer_zid")), mask);
        assert_eq!(Some(u64::from(sn)), decoded["initial_sn"].as_u64(), "{}", vector["name"]);
        checked += 1;
    }
    assert!(checked >= 7, "only {checked} vectors");
}

#[test]
fn resolutions_narrow_field_by_field() {
    let cases = [
        (0x0f, 0x0a, 0x0a),
        (0x0a, 0x0f, 0x0a),
        (0x03, 0x0c, 0x00),
        (0x01, 0x0a, 0x01),
        (0x04, 0x0a, 0x04),
        (0xfa, 0x0a, 0x0a),
    ];
    for (a, b, least) in cases {
        assert_eq!(narrowest(Resolution(a), Resolution(b)).0, least, "{a:#x} and {b:#x}");
    }
    assert!(is_within(Resolution(0xf5), Resolution(0x0a)), "reserved bits do not count");
    assert!(!is_within(Resolution(0x0b), Resolution(0x0a)));
    assert!(!is_within(Resolution(0x0c), Resolution(0x0a)));
}

#[test]
fn masks_follow_the_two_low_bits() {
    let masks = [0, 1, 2, 3, 4, 0xfe].map(|byte| sn_mask(Resolution(byte)));
    assert_eq!(masks, [0x7f, 0x3fff, 0x0fff_ffff, u32::MAX, 0x7f, 0x0fff_ffff]);
}
