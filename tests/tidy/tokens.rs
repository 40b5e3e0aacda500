// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words of code and comments that mark unfinished work, and calls that trust the network.

use super::none;
use super::source::{Source, files, find, place, sources};

/// Marks of unfinished work in code.
const UNFINISHED: [&str; 4] = ["todo!(", "unimplemented!(", "dbg!(", "#[ignore"];

/// Crates that process input of the network.
const NETWORK_FACING: [&str; 7] = [
    "codec/src/",
    "transport/src/",
    "router/config/src/",
    "router/src/",
    "router/table/src/",
    "runtime/src/",
    "bridges/kafka/src/",
];

/// Words that announce unfinished work, in two halves so that this file does not contain them.
const PROMISES: [[&str; 2]; 3] = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"]];

fn unfinished(source: &Source) -> Vec<String> {
    let places = |token: &'static str| {
        find(&source.code, token)
            .map(move |at| format!("{} {token}", source.place(at)))
            .collect::<Vec<_>>()
    };
    UNFINISHED.into_iter().flat_map(places).collect()
}

fn trusting(source: &Source) -> Vec<String> {
    let places = find(&source.product, ".unwrap()");
    places
        .map(|at| format!("{} unwrap", source.place(at)))
        .collect()
}

#[test]
fn nothing_is_left_for_later() {
    let mut places: Vec<_> = sources().iter().flat_map(unfinished).collect();
    for file in files() {
        for word in PROMISES.map(|halves| halves.concat()) {
            places.extend(find(&file.text, &word).map(|at| place(&file.path, &file.text, at)));
        }
    }
    none("what is here is finished, and every test runs", &places);
}

#[test]
fn code_that_meets_the_network_does_not_unwrap() {
    let facing = sources()
        .iter()
        .filter(|s| NETWORK_FACING.iter().any(|f| s.path.starts_with(f)));
    let places: Vec<_> = facing.flat_map(trusting).collect();
    none(
        "an error is returned; a broken invariant is an expect(\"why it holds\")",
        &places,
    );
}

#[test]
fn the_words_are_seen() {
    let source = Source::new(
        "codec/src/x.rs",
        "fn a() { b.unwrap(); todo!() }\n#[cfg(test)]\nmod t { c.unwrap(); }\n",
    );
    assert_eq!(trusting(&source), ["codec/src/x.rs:1 unwrap"]);
    assert_eq!(unfinished(&source), ["codec/src/x.rs:1 todo!("]);
    assert!(unfinished(&Source::new("x.rs", "// todo!( dbg!(\n\"todo!(\"")).is_empty());
}
