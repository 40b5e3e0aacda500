// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which memory a lane keeps because payloads in its queue lie in it.
//!
//! A payload that is forwarded is not copied where it is large: it is sent from the block that it was read into, and keeps
//! all of that. A stream of such payloads fills its blocks, so nothing more is kept than what waits. One payload now and then
//! would keep sixteen times its size: beyond some free memory such a one is copied instead.

use std::collections::VecDeque;

use zonda_codec::ZSlice;

use crate::block::SharedBlock;

use super::batch::{Batch, Tail};

/// Blocks may be kept up to this many times as large as the payloads in them,
const RATIO_MAX: usize = 2;

/// and so many bytes beyond that.
const FREE_BYTES: usize = 512 * 1024;

/// The blocks that the payloads of a queue lie in.
#[derive(Debug, Default)]
pub(super) struct Pins {
    /// Bytes of the blocks. One counts once for all payloads next to each other in the queue that lie in it.
    blocks: usize,
    /// Bytes of the payloads.
    payloads: usize,
}

impl Pins {
    /// Bytes of blocks that are kept.
    pub(super) fn memory(&self) -> usize {
        self.blocks
    }

    /// Tells if `payload` may be sent from where it lies, behind what is in the queue.
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

    /// A batch with this payload comes into the queue beside another one.
    pub(super) fn enter(&mut self, payload: &ZSlice, beside: Option<&Batch>) {
        if let Some(block) = SharedBlock::of(payload) {
            self.payloads += payload.len();
            if !is_in(beside, block) {
                self.blocks += block.memory();
            }
        }
    }

    /// A batch with this payload has left the queue, beside another one.
    pub(super) fn leave(&mut self, payload: &ZSlice, beside: Option<&Batch>) {
        if let Some(block) = SharedBlock::of(payload) {
            self.payloads = self.payloads.saturating_sub(payload.len());
            if !is_in(beside, block) {
                self.blocks = self.blocks.saturating_sub(block.memory());
            }
        }
    }
}

/// Tells if the payload of a batch lies in this block.
fn is_in(batch: Option<&Batch>, block: &SharedBlock) -> bool {
    let other = batch.and_then(Batch::tail).and_then(SharedBlock::of);
    other.is_some_and(|other| std::ptr::eq(other, block))
}

#[cfg(test)]
mod tests;
