// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages leave a router with the content that they arrived with, in every encoding and on every
//! path, for this project's decoder and for the reference's.

use std::panic::{AssertUnwindSafe, catch_unwind};

use zonda_testkit::forwarding::{Scene, forwarding};
use zonda_testkit::json::hex;
use zonda_testkit::reference::assert_read_alike;
use zonda_testkit::replay;
use zonda_testkit::spelling::{self, Speller};

fn in_every_spelling(mut scene: Scene) {
    let mut messages = 0;
    for seed in 0..800 {
        let choices = spelling::choices(seed, 2000);
        let mut speller = Speller::legal(&choices);
        match seed % 4 {
            0 => speller.pushes(40),
            _ => drop(speller.alike(40)),
        }
        let row = speller.take();
        let checked = catch_unwind(AssertUnwindSafe(|| scene.check(&row, assert_read_alike)));
        messages += checked.unwrap_or_else(|_| panic!("seed {seed}: {}", hex(&row)));
    }
    assert!(messages > 6_000, "{messages} messages had a key");
}

#[test]
fn messages_leave_a_router_as_they_came() {
    in_every_spelling(Scene::new(false));
}

#[test]
fn messages_leave_a_router_with_timestamps_and_otherwise_as_they_came() {
    in_every_spelling(Scene::new(true));
}

/// Rules that let all messages of a kind pass leave them their path; those of the other kind are
/// decided about one by one.
#[test]
fn messages_leave_a_router_with_rules_as_they_came_or_not_at_all() {
    in_every_spelling(Scene::with_rules(false));
    in_every_spelling(Scene::with_rules(true));
}

/// Three messages on one key: for a router that believes the length to begin a byte late, the
/// second and third are one byte long; for every other decoder they are 128 bytes long with whole
/// messages inside.
#[test]
fn a_length_of_nothing_in_two_bytes_injects_nothing() {
    const NOTHING: &[u8] = &[0x5d, 1, 1, 0x80, 0];
    const PUSH: &[u8] = &[0x3d, 0, 6, b'f', b'o', b'r', b'g', b'e', b'd', 1, 1, b'x'];
    const CLOSE: &[u8] = &[0x03, 0];
    for stamps in [false, true] {
        let mut scene = Scene::new(stamps);
        for hidden in [PUSH, CLOSE] {
            let mut long = [&[0x5d, 1, 1, 0x80, 1, b'A'], hidden].concat();
            long.resize(5 + 128, 0x20);
            let row = [NOTHING, &long, &long, NOTHING, NOTHING].concat();
            for _ in 0..3 {
                assert_eq!(scene.check(&row, assert_read_alike), 5);
            }
        }
    }
}

#[test]
fn the_corpus_leaves_a_router_as_it_came() {
    assert!(replay("forwarding", forwarding) > 10);
}
