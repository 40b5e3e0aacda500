// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages leave a router with the content that they arrived with, in every encoding and on every
//! path, for this project's decoder and for the reference's.

#[path = "../../fuzz/src/checks.rs"]
#[allow(dead_code, reason = "the codec's tests use the rest")]
mod checks;
#[path = "../../fuzz/src/forwarding.rs"]
mod forwarding;
#[path = "../../codec/tests/json/mod.rs"]
mod json;
#[path = "../../codec/tests/reference/mod.rs"]
mod reference;
#[path = "../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../fuzz/src/spelled.rs"]
mod spelled;
#[path = "../../fuzz/src/spelling/mod.rs"]
mod spelling;

use std::panic::{AssertUnwindSafe, catch_unwind};

use forwarding::Scene;
use json::hex;
use spelling::Speller;
use zenoh_buffers::ZSlice;
use zenoh_codec::{RCodec, Zenoh080};
use zonda_codec::{NetworkMessage, Reader, TransportMessage};

/// Checks that the reference decodes a batch as this project does.
fn read_alike(batch: &[u8]) {
    let mut slice = ZSlice::from(batch.to_vec());
    let mut theirs = Vec::new();
    while !slice.is_empty() {
        let message: zenoh_protocol::transport::TransportMessage = Zenoh080::new()
            .read(&mut slice)
            .expect("the reference reads it");
        match message.body {
            zenoh_protocol::transport::TransportBody::Frame(frame) => {
                theirs.extend(frame.payload.iter().map(reference::network));
            }
            other => panic!("a frame is expected: {other:?}"),
        }
    }
    let mut ours = Vec::new();
    let mut reader = Reader::new(batch);
    while !reader.is_empty() {
        TransportMessage::decode(&mut reader).expect("a frame");
        while reader.peek().is_some_and(NetworkMessage::starts) {
            let message = NetworkMessage::decode(&mut reader).expect("a message");
            ours.push(json::network(&message));
        }
    }
    assert_eq!(theirs, ours);
}

fn in_every_spelling(stamps: bool) {
    let mut scene = Scene::new(stamps);
    let mut messages = 0;
    for seed in 0..800 {
        let choices = spelling::choices(seed, 2000);
        let mut speller = Speller::legal(&choices);
        match seed % 4 {
            0 => speller.pushes(40),
            _ => drop(speller.alike(40)),
        }
        let row = speller.take();
        let checked = catch_unwind(AssertUnwindSafe(|| scene.check(&row, read_alike)));
        messages += checked.unwrap_or_else(|_| panic!("seed {seed}: {}", hex(&row)));
    }
    assert!(messages > 6_000, "{messages} messages had a key");
}

#[test]
fn messages_leave_a_router_as_they_came() {
    in_every_spelling(false);
}

#[test]
fn messages_leave_a_router_with_timestamps_and_otherwise_as_they_came() {
    in_every_spelling(true);
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
                assert_eq!(scene.check(&row, read_alike), 5);
            }
        }
    }
}

#[test]
fn the_corpus_leaves_a_router_as_it_came() {
    replay::replay("spelled", spelled::spelled);
    replay::replay("forwarding", spelled::forwarding);
}
