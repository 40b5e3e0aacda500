// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory that a lane keeps because payloads in its queue lie in it.
//!
//! A large payload that is forwarded is not copied: it is sent from the block that it was read
//! into, and keeps all of the block. A stream of such payloads fills its blocks, so no more is kept
//! than is queued. An occasional payload would keep sixteen times its size: beyond some free memory
//! such a payload is copied instead.

use std::collections::VecDeque;

use zonda_codec::ZSlice;

use crate::block::SharedBlock;

use super::batch::{Batch, Tail};

/// Maximum ratio of the kept blocks' bytes to those of the payloads in them.
const RATIO_MAX: usize = 2;

/// Bytes by which the blocks may exceed that ratio.
const FREE_BYTES: usize = 512 * 1024;

/// Blocks that the payloads of a queue lie in.
#[derive(Debug, Default)]
pub(super) struct PinnedBlocks {
    /// Bytes of the blocks. A block counts once for all adjacent payloads in the queue that lie in
    /// it.
    blocks: usize,
    /// Bytes of the payloads.
    payloads: usize,
}

impl PinnedBlocks {
    /// Returns the bytes of blocks that are kept.
    pub(super) fn memory(&self) -> usize {
        self.blocks
    }

    /// Returns true if `payload` may be sent from its place, behind the queue.
    #[inline(never)]
    pub(super) fn allows(&self, payload: &Tail<'_>, queue: &VecDeque<Batch>) -> bool {
        let lies_in = match payload {
            Tail::Copy(_) => None,
            Tail::Shared(slice) => SharedBlock::of(slice),
            Tail::Part { block, .. } => SharedBlock::of(block),
        };
        let Some(block) = lies_in else {
            return true;
        };
        let payloads = self.payloads + payload.bytes().len();
        is_in(queue.back(), block)
            || self.blocks + block.memory() <= RATIO_MAX * payloads + FREE_BYTES
    }

    /// Notes that a batch with this payload enters the queue next to another one.
    pub(super) fn enter(&mut self, payload: &ZSlice, beside: Option<&Batch>) {
        if let Some(block) = SharedBlock::of(payload) {
            self.payloads += payload.len();
            if !is_in(beside, block) {
                self.blocks += block.memory();
            }
        }
    }

    /// Notes that a batch with this payload has left the queue, next to another one.
    pub(super) fn leave(&mut self, payload: &ZSlice, beside: Option<&Batch>) {
        if let Some(block) = SharedBlock::of(payload) {
            self.payloads = self.payloads.saturating_sub(payload.len());
            if !is_in(beside, block) {
                self.blocks = self.blocks.saturating_sub(block.memory());
            }
        }
    }
}

/// Returns true if the payload of a batch lies in this block.
fn is_in(batch: Option<&Batch>, block: &SharedBlock) -> bool {
    let other = batch.and_then(Batch::tail).and_then(SharedBlock::of);
    other.is_some_and(|other| std::ptr::eq(other, block))
}

#[cfg(test)]
mod tests;
