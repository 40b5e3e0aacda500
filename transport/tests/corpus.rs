// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replay of the fuzzers' corpora of bytes that arrive at a node. Those of frames are replayed next
//! to the frames.

#[path = "../../fuzz/src/datagrams.rs"]
mod datagrams;
#[path = "../../fuzz/src/replay.rs"]
mod replay;
#[path = "../../fuzz/src/shared.rs"]
mod shared;

use replay::replay;

#[test]
fn datagrams_corpus() {
    assert!(replay("datagrams", datagrams::datagrams) > 20);
}

#[test]
fn shared_corpus() {
    assert!(replay("shared", shared::shared) > 10);
}
