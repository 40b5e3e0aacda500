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
    zonda_testkit::by_chance(2000, |random| {
        let (length, kinds) = (random.below(400), 1 + random.below(256));
        let mut data = random.bytes(length, kinds);
        if random.below(2) == 0 {
            data = compressed::as_batches(&data);
            for _ in 0..random.below(4) {
                let at = random.below(data.len());
                data[at] = random.below(256) as u8;
            }
        }
        compressed::compressed(&data);
    });
}
