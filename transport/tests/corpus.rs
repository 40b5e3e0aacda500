// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replay of the fuzzers' corpora of bytes that arrive at a node. Those of frames are replayed next
//! to the frames.

#[cfg(feature = "compression")]
use zonda_testkit::compressed;
use zonda_testkit::datagrams::datagrams;
use zonda_testkit::handshake::handshake;
use zonda_testkit::replay;
use zonda_testkit::shared::shared;

#[test]
fn datagrams_corpus() {
    assert!(replay("datagrams", datagrams) > 20);
}

#[test]
fn handshake_corpus() {
    assert!(replay("handshake", handshake) > 4);
}

#[test]
fn shared_corpus() {
    assert!(replay("shared", shared) > 10);
}

#[cfg(feature = "compression")]
#[test]
fn compressed_corpus() {
    assert!(replay("compressed", compressed::compressed) > 4);
}

/// Blocks that this node made, with bytes changed by chance, and payloads of few different bytes.
#[cfg(feature = "compression")]
#[test]
fn compressed_batches_by_chance() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    let times = match std::env::var_os("ZONDA_LONG") {
        Some(_) => 100,
        None => 1,
    };
    for _ in 0..2000 * times {
        let (length, kinds) = (random(400), 1 + random(256));
        let mut data: Vec<u8> = (0..length).map(|_| random(kinds) as u8).collect();
        if random(2) == 0 {
            data = compressed::as_batches(&data);
            for _ in 0..random(4) {
                let at = random(data.len());
                data[at] = random(256) as u8;
            }
        }
        compressed::compressed(&data);
    }
}
