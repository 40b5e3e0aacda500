// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bound on the work of both relations, proved by counting steps (not time) on keys made to blow up searches.
//!
//! A step is a byte read or compared. The relations as such are tested from outside, in `tests/key_expr*.rs`.

use proptest::prelude::*;

use super::chunks::Tally;
use super::{canonize, includes, intersects};

impl Tally for u64 {
    fn add(&mut self, bytes: usize) {
        *self += bytes as u64;
    }
}

/// No pair of keys may take more steps than this times the product of their lengths.
const STEPS_PER_BYTE_PAIR: u64 = 8;

/// Steps of both relations in both directions; checks the bound for each and that counting changes no answer.
fn measured(a: &str, b: &str) -> u64 {
    let bound = STEPS_PER_BYTE_PAIR * (a.len() as u64 + 1) * (b.len() as u64 + 1);
    let mut most = 0;
    for (a, b) in [(a, b), (b, a)] {
        let (mut meeting, mut covering) = (0u64, 0u64);
        assert_eq!(
            super::intersects::counted(a, b, &mut meeting),
            intersects(a, b)
        );
        assert_eq!(
            super::includes::counted(a, b, &mut covering),
            includes(a, b)
        );
        most = most.max(meeting).max(covering);
    }
    assert!(
        most <= bound,
        "{most} steps for {} x {} bytes exceed {bound}",
        a.len(),
        b.len()
    );
    most
}

/// Returns `part` repeated, joined by `/`.
fn chunks(part: &str, times: usize) -> String {
    vec![part; times].join("/")
}

#[test]
fn thousands_of_double_stars_stay_linear() {
    let many = chunks("a/**", 4000);
    let other = chunks("b/**", 4000);
    let plain = chunks("a", 8000);
    let pairs = [
        (many.clone(), many.clone()),
        (many.clone(), other),
        (many.clone(), plain.clone()),
        (format!("{many}/z"), plain.clone()),
        (format!("**/{many}/z"), format!("{plain}/y/**")),
        (format!("**/{many}/z/**"), plain),
    ];
    for (a, b) in &pairs {
        let steps = measured(a, b);
        let linear = 20 * (a.len() + b.len()) as u64;
        assert!(steps <= linear, "{steps} steps exceed {linear}");
    }
}

#[test]
fn thousands_of_dollar_stars_stay_linear() {
    let globs = "$*a".repeat(4000);
    let mixed = "$*a$*b".repeat(2000);
    let plain = "a".repeat(12_000);
    let pairs = [
        (format!("{globs}$*"), plain.clone()),
        (format!("{globs}$*b"), plain.clone()),
        (format!("{globs}$*b$*"), plain.clone()),
        (format!("{mixed}$*"), plain.clone()),
        (format!("{mixed}$*"), format!("x{globs}")),
        (globs.clone(), mixed),
        (format!("$*{}b$*", "a".repeat(6000)), plain.clone()),
        (format!("$*{}$*", "ab".repeat(3000)), plain),
    ];
    for (a, b) in &pairs {
        let steps = measured(a, b);
        let linear = 20 * (a.len() + b.len()) as u64;
        assert!(steps <= linear, "{steps} steps exceed {linear}");
    }
}

#[test]
fn long_runs_stay_within_the_product() {
    let stars = chunks("*", 700);
    let plain = chunks("a", 1400);
    let globs = chunks("$*a$*", 300);
    let pairs = [
        (format!("**/{stars}/b/**"), plain.clone()),
        (format!("**/{stars}/b/**/b/**"), plain.clone()),
        (format!("**/{globs}/b/**"), plain.clone()),
        (format!("**/{}/b/**", chunks("a", 700)), plain.clone()),
        (format!("**/{globs}/b/**"), chunks("$*b$*a$*", 600)),
        (format!("**/{}/**", chunks("a$*$x", 9)), plain),
    ];
    for (a, b) in &pairs {
        let steps = measured(a, b);
        assert!(!intersects(a, b) || a.contains("$*a$*"));
        assert!(!includes(a, b));
        assert!(steps > 0);
    }
}

#[test]
fn verbatim_chunks_do_not_multiply_the_work() {
    let many = chunks("**/@a", 3000);
    let plain = chunks("@a", 3000);
    let spread = chunks("x/@a", 3000);
    for (a, b, meet) in [
        (many.clone(), plain.clone(), true),
        (many.clone(), spread.clone(), true),
        (format!("{many}/**"), format!("{spread}/@b"), false),
        (format!("{many}/@a"), plain, false),
        (format!("{}/y", chunks("*/@a", 3000)), spread, false),
    ] {
        let steps = measured(&a, &b);
        let linear = 20 * (a.len() + b.len()) as u64;
        assert!(steps <= linear, "{steps} steps exceed {linear}");
        assert_eq!(intersects(&a, &b), meet, "{:.40} {:.40}", a, b);
    }
}

/// Keys of up to 40 chunks made of the pieces with the highest cost.
fn hostile_key() -> impl Strategy<Value = String> {
    let piece = prop_oneof![Just("a"), Just("b"), Just("aa"), Just("$*")];
    let glob = prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat());
    let chunk = prop_oneof![
        3 => Just("**".to_owned()),
        2 => Just("*".to_owned()),
        1 => Just("@a".to_owned()),
        4 => glob,
    ];
    prop::collection::vec(chunk, 1..40)
        .prop_map(|chunks| canonize(&chunks.join("/")).unwrap().into_owned())
}

proptest! {
    #[test]
    fn any_pair_stays_within_the_product(a in hostile_key(), b in hostile_key()) {
        measured(&a, &b);
        measured(&a, &a);
    }
}
