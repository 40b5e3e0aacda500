// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a queue keeps of the blocks that its payloads lie in.

use std::sync::{Arc, Weak};

use zonda_codec::{Encode, EncodeError, Priority, Reliability, Writer};
use zonda_runtime::RxBuf;

use super::*;
use crate::{
    ledger::Charge,
    protocol::{
        options::Framing,
        tx::{Lane, LaneConfig, Outgoing},
    },
};

const BLOCK_BYTES: usize = 256 * 1024;
const QUEUE_BYTES_MAX: usize = 512 * 1024;

struct Head;

impl Encode for Head {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.bytes(b"head")
    }
}

fn lane(batch_size: u16) -> Lane {
    Lane::new(LaneConfig {
        priority: Priority::Data,
        batch_size,
        sn_mask: 0x0fff_ffff,
        initial_sn: 0,
        queue_bytes_max: QUEUE_BYTES_MAX,
        framing: Framing::Plain,
        share_bytes_min: crate::protocol::tx::SHARE_BYTES_MIN,
    })
}

/// Returns a block that a read has filled with so many bytes.
fn block(filled: usize) -> (ZSlice, Weak<SharedBlock>) {
    let mut buffer = RxBuf::new(BLOCK_BYTES);
    buffer.spare_mut()[..filled].fill(7);
    buffer.advance(filled);
    let block = Arc::new(SharedBlock(buffer, Charge::default()));
    let weak = Arc::downgrade(&block);
    let slice = ZSlice::new(block, 0, filled).expect("within its bounds");
    (slice, weak)
}

fn push(lane: &mut Lane, block: &ZSlice, (from, to): (usize, usize)) {
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &Head,
        payload: Tail::Part {
            block,
            part: &block.as_slice()[from..to],
        },
    };
    lane.push(&message).expect("it has a wire form");
}

fn popped(lane: &mut Lane) -> Vec<Batch> {
    std::iter::from_fn(|| lane.pop(&mut Vec::new())).collect()
}

#[test]
fn a_payload_here_and_there_does_not_keep_its_block() {
    // Fragmented payloads, and payloads that fill a read, are covered as well.
    for (bytes, batch_size) in [
        (16 * 1024, 65_535),
        (40_000, 65_535),
        (65_000, 65_535),
        (65_000, 32_768),
    ] {
        for filled in [bytes, BLOCK_BYTES] {
            let mut lane = lane(batch_size);
            let mut blocks = Vec::new();
            while lane.has_room() {
                let (block, weak) = block(filled);
                push(&mut lane, &block, (0, bytes));
                blocks.push(weak);
            }
            let kept = blocks.iter().filter(|block| block.strong_count() > 0);
            let kept = kept.count() * BLOCK_BYTES;
            assert!(
                kept <= 3 * QUEUE_BYTES_MAX,
                "{kept} bytes of blocks for payloads of {bytes}"
            );
            assert_eq!(lane.pins.memory(), kept);
            let sent: usize = popped(&mut lane).iter().map(Batch::wire_len).sum();
            assert!(sent >= blocks.len() * bytes && sent < QUEUE_BYTES_MAX + 140_000);
            assert_eq!(lane.pins.memory(), 0);
            assert!(blocks.iter().all(|block| block.strong_count() == 0));
        }
    }
}

#[test]
fn a_stream_of_payloads_is_not_copied() {
    for bytes in [16 * 1024, 32 * 1024, 65_000] {
        let mut lane = lane(65_535);
        while lane.has_room() {
            let (block, _) = block(BLOCK_BYTES);
            for at in 0..BLOCK_BYTES / bytes {
                push(&mut lane, &block, (at * bytes, (at + 1) * bytes));
            }
        }
        assert!(lane.pins.memory() <= 2 * QUEUE_BYTES_MAX + BLOCK_BYTES);
        // Batches that a full socket puts back keep their blocks as before.
        let mut batches = popped(&mut lane);
        assert_eq!(lane.pins.memory(), 0);
        let count = batches.len();
        while let Some(batch) = batches.pop() {
            lane.put_back(batch);
        }
        assert!(lane.pins.memory() >= QUEUE_BYTES_MAX);
        let batches = popped(&mut lane);
        assert_eq!(batches.len(), count);
        assert!(
            batches.iter().all(|batch| batch.tail().is_some()),
            "{bytes}"
        );
        assert_eq!(lane.pins.memory(), 0);
    }
}
