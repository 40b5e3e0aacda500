// SPDX-License-Identifier: MIT OR Apache-2.0
//! Key expressions against two oracles: the reference's own library, and the rules as naive recursion. Small universes
//! are compared exhaustively, larger keys at random; then the algebra every such relation must obey.

use proptest::prelude::*;
use zenoh_keyexpr::{OwnedKeyExpr, keyexpr};
use zonda_codec::key_expr::{canonize, includes, intersects, literal_prefix, validate};

use crate::key_expr_oracle as oracle;

/// Compares both relations with both oracles.
fn compare(a: &str, b: &str) {
    let (meet, cover) = (intersects(a, b), includes(a, b));
    assert_eq!(meet, oracle::intersects(a, b), "{a} meets {b}: rules");
    assert_eq!(cover, oracle::includes(a, b), "{a} covers {b}: rules");
    let (x, y) = (keyexpr::new(a).unwrap(), keyexpr::new(b).unwrap());
    assert_eq!(meet, x.intersects(y), "{a} meets {b}: reference");
    assert_eq!(cover, x.includes(y), "{a} covers {b}: reference");
}

/// Returns every list of 1 to `most` of the parts, joined.
fn all_joined(parts: &[&str], joint: &str, most: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut last = vec![String::new()];
    for length in 1..=most {
        let joint = if length == 1 { "" } else { joint };
        last = last
            .iter()
            .flat_map(|start| {
                parts
                    .iter()
                    .map(move |part| format!("{start}{joint}{part}"))
            })
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn all_short_keys_agree_with_both_oracles() {
    let keys: Vec<String> = all_joined(&["a", "b", "*", "**", "@a", "a$*"], "/", 3)
        .into_iter()
        .filter(|key| validate(key).is_ok())
        .collect();
    assert!(keys.len() > 200, "{}", keys.len());
    for a in &keys {
        for b in &keys {
            compare(a, b);
        }
    }
}

#[test]
fn all_short_chunks_agree_with_both_oracles() {
    let chunks: Vec<String> = all_joined(&["a", "b", "$*"], "", 5)
        .into_iter()
        .filter(|key| validate(key).is_ok())
        .collect();
    assert!(chunks.len() > 200, "{}", chunks.len());
    for a in &chunks {
        for b in &chunks {
            compare(a, b);
        }
    }
}

#[test]
fn all_short_texts_are_judged_as_the_reference_does() {
    let mut valid = 0;
    for text in all_joined(&["a", "/", "*", "$", "@", "?"], "", 6) {
        let ours = validate(&text).is_ok();
        assert_eq!(ours, keyexpr::new(&text).is_ok(), "{text}: reference");
        assert_eq!(ours, oracle::is_canonical(&text), "{text}: rules");
        assert_eq!(
            canonize(&text).ok().map(String::from),
            oracle::canonize(&text),
            "{text}"
        );
        valid += usize::from(ours);
    }
    assert!(valid > 500, "{valid}");
}

/// Texts the reference's canonizer handles: it loses or breaks on `$*$*` that does not start its chunk.
fn reference_can_canonize(text: &str) -> bool {
    text.split('/').all(|chunk| {
        let mut rest = chunk;
        while let Some(shorter) = rest.strip_prefix("$*") {
            rest = shorter;
        }
        !rest.contains("$*$*")
    })
}

#[test]
fn all_short_spellings_are_canonized_as_the_reference_does() {
    let mut changed = 0;
    let parts = ["a", "*", "**", "$*", "$*$*", "a$*", "$*$*b", "@a"];
    for text in all_joined(&parts, "/", 4) {
        let ours = canonize(&text).map(String::from).ok();
        assert_eq!(ours, oracle::canonize(&text), "{text}: rules");
        assert!(reference_can_canonize(&text));
        let theirs = OwnedKeyExpr::autocanonize(text.clone()).ok();
        assert_eq!(
            ours.as_deref(),
            theirs.as_ref().map(|key| key.as_str()),
            "{text}"
        );
        changed += usize::from(ours.is_some_and(|canonical| canonical != text));
    }
    assert!(changed > 1000, "{changed}");
}

fn chunk() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("a"),
        Just("b"),
        Just("é"),
        Just("ab"),
        Just("$*"),
        Just("$*")
    ];
    let glob = prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat());
    prop_oneof![
        3 => prop_oneof![Just("a"), Just("b"), Just("aab")].prop_map(str::to_owned),
        3 => Just("**".to_owned()),
        2 => Just("*".to_owned()),
        1 => prop_oneof![Just("@a"), Just("@b"), Just("@$*"), Just("@")].prop_map(str::to_owned),
        3 => glob,
    ]
}

fn key(most: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(chunk(), 1..=most)
        .prop_map(|chunks| canonize(&chunks.join("/")).unwrap().into_owned())
}

/// Returns a concrete name, sometimes with verbatim chunks.
fn name() -> impl Strategy<Value = String> {
    let chunk = prop_oneof![
        4 => Just("a"), 3 => Just("b"), 2 => Just("aab"), 1 => Just("abéb"), 1 => Just("@a"), 1 => Just("@b"),
    ];
    prop::collection::vec(chunk, 1..=6).prop_map(|chunks| chunks.join("/"))
}

/// Returns a key and another one made from it, so that they are often related.
fn related_keys() -> impl Strategy<Value = (String, String)> {
    let change = (any::<prop::sample::Index>(), chunk(), 0u8..3);
    (key(6), prop::collection::vec(change, 0..3)).prop_map(|(a, changes)| {
        let mut chunks: Vec<String> = a.split('/').map(str::to_owned).collect();
        for (index, chunk, kind) in changes {
            let at = index.index(chunks.len());
            match kind {
                0 => chunks[at] = chunk,
                1 => chunks.insert(at, chunk),
                _ if chunks.len() > 1 => drop(chunks.remove(at)),
                _ => {}
            }
        }
        let b = canonize(&chunks.join("/")).unwrap().into_owned();
        (a, b)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn related_keys_agree_with_both_oracles((a, b) in related_keys()) {
        compare(&a, &b);
        compare(&b, &a);
    }

    #[test]
    fn unrelated_keys_agree_with_both_oracles(a in key(7), b in key(7)) {
        compare(&a, &b);
    }

    #[test]
    fn relations_obey_their_algebra((a, b) in related_keys(), name in name()) {
        prop_assert!(intersects(&a, &a) && includes(&a, &a));
        prop_assert_eq!(intersects(&a, &b), intersects(&b, &a));
        prop_assert!(!includes(&a, &b) || intersects(&a, &b));
        prop_assert!(!(includes(&a, &b) && includes(&b, &name)) || includes(&a, &name));
        prop_assert_eq!(includes(&a, &name), intersects(&a, &name));
        let both = includes(&a, &name) && includes(&b, &name);
        prop_assert!(!both || intersects(&a, &b), "{} belongs to {} and {}", name, a, b);
    }

    #[test]
    fn inclusion_is_transitive((a, b) in related_keys(), c in key(4)) {
        prop_assert!(!(includes(&a, &b) && includes(&b, &c)) || includes(&a, &c));
    }

    #[test]
    fn canonising_twice_changes_nothing(text in "[ab/*$@é]{0,16}") {
        if let Ok(canonical) = canonize(&text) {
            prop_assert!(validate(&canonical).is_ok());
            prop_assert_eq!(canonize(&canonical).unwrap(), canonical.clone());
        }
        prop_assert_eq!(canonize(&text).ok().map(String::from), oracle::canonize(&text));
    }

    #[test]
    fn any_text_is_judged_as_the_reference_does(text in "[a/*$@#?é ]{0,12}") {
        prop_assert_eq!(validate(&text).is_ok(), keyexpr::new(&text).is_ok());
        if reference_can_canonize(&text) && !text.is_empty() {
            let theirs = OwnedKeyExpr::autocanonize(text.clone()).ok().map(String::from);
            prop_assert_eq!(canonize(&text).ok().map(String::from), theirs);
        }
    }

    #[test]
    fn no_text_makes_the_relations_panic(a in any::<String>(), b in "[a/*$@é]{0,20}") {
        let _ = (intersects(&a, &b), includes(&a, &b), includes(&b, &a), validate(&a), canonize(&a));
        let _ = (intersects(&b, &b), literal_prefix(&a), literal_prefix(&b));
    }

    #[test]
    fn the_literal_prefix_is_the_longest(key in key(6)) {
        let (prefix, rest) = literal_prefix(&key);
        prop_assert_eq!(format!("{prefix}{rest}"), key.clone());
        prop_assert!(!prefix.contains('*'));
        match rest.strip_prefix('/') {
            Some(tail) => prop_assert!(tail.split('/').next().unwrap().contains('*')),
            None => prop_assert!(rest.is_empty() || (prefix.is_empty() && rest == key)),
        }
    }
}
