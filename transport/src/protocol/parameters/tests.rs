// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of the reference, and the allowed answers.

use super::*;

fn zid(hex: &str) -> ZenohId {
    hex.parse().expect("a valid id")
}

#[test]
fn initial_sequence_numbers_are_the_references() {
    let mut checked = 0;
    for vector in zonda_testkit::json::golden_vectors() {
        let decoded = &vector["decoded"];
        if vector["layer"] != "derived" || decoded["initial_sn"].is_null() {
            continue;
        }
        let text = |field: &str| decoded[field].as_str().expect("text").to_owned();
        let bits = decoded["sn_bits"].as_u64().expect("a number");
        let mask = ((1_u64 << bits) - 1) as u32;
        let sn = initial_sn(&zid(&text("self_zid")), &zid(&text("peer_zid")), mask);
        assert_eq!(
            Some(u64::from(sn)),
            decoded["initial_sn"].as_u64(),
            "{}",
            vector["name"]
        );
        checked += 1;
    }
    assert!(checked >= 7, "only {checked} vectors");
}

#[test]
fn an_answer_may_narrow_each_field_but_not_widen_one() {
    let offered = Resolution::from_bits(0x0a);
    for answered in 0..16 {
        let within = answered & 0b11 <= 2 && answered >> 2 <= 2;
        assert_eq!(
            is_within(Resolution::from_bits(answered), offered),
            within,
            "{answered:#x}"
        );
    }
}
