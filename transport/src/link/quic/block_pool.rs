// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory for queued bytes of a connection, reused once it is free.
//!
//! A copy for a connection lives until the peer has confirmed it, or the link has read it, and is
//! freed by another thread. An allocator that returns such memory to the system when it is free,
//! like that of glibc where no younger block lies behind it, makes the system map and zero each
//! page of the next message anew: a third of the cost of a message of 64 KiB, or none of it,
//! depending on the layout.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::BytesMut;

/// Bytes of a block: the largest datagram, or one read of a link, fits into one.
const BLOCK_BYTES: usize = 64 * 1024;

/// Maximum number of blocks that are kept: those of a window, and partly free ones.
const BLOCKS_MAX: usize = 20;

/// Size below which the allocator keeps memory by itself.
const LARGE: usize = 4 * 1024;

/// Time for which unused blocks are kept.
const KEPT: Duration = Duration::from_secs(1);

/// Blocks of memory, with the last used one at the back.
#[derive(Debug, Default)]
pub(super) struct BlockPool {
    blocks: VecDeque<BytesMut>,
    used_at: Option<Instant>,
}

impl BlockPool {
    /// Returns the bytes of all blocks, in use or not.
    pub(super) fn bytes(&self) -> usize {
        self.blocks.len() * BLOCK_BYTES
    }

    /// Returns a copy of these bytes.
    pub(super) fn copy(&mut self, bytes: &[u8], now: Instant) -> BytesMut {
        if !(LARGE..=BLOCK_BYTES).contains(&bytes.len()) {
            self.look_after(now);
            return bytes.into();
        }
        self.used_at = Some(now);
        let Some(mut block) = self.block_for(bytes.len()) else {
            return bytes.into();
        };
        block.extend_from_slice(bytes);
        let copy = block.split();
        self.blocks.push_back(block);
        copy
    }

    /// Frees blocks that were not used lately.
    pub(super) fn look_after(&mut self, now: Instant) {
        let is_old = |at: &mut Instant| now.saturating_duration_since(*at) >= KEPT;
        if self.used_at.take_if(is_old).is_some() {
            self.blocks = VecDeque::new();
        }
    }

    /// Returns a block with this much room: the rest of the last one, the first one if it is free
    /// again, or a new one.
    fn block_for(&mut self, bytes: usize) -> Option<BytesMut> {
        if let Some(last) = self.blocks.back()
            && last.capacity() >= bytes
        {
            return self.blocks.pop_back();
        }
        if let Some(first) = self.blocks.front_mut()
            && first.try_reclaim(BLOCK_BYTES)
        {
            return self.blocks.pop_front();
        }
        if self.blocks.len() < BLOCKS_MAX {
            return Some(BytesMut::with_capacity(BLOCK_BYTES));
        }
        // The block is moved to the back: one that stays in use must not block the reuse of the
        // other ones.
        self.blocks.rotate_left(1);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_free_is_used_again() {
        let (mut recycled, now) = (BlockPool::default(), Instant::now());
        let large = vec![7; BLOCK_BYTES];
        let mut places = Vec::new();
        let mut waiting = VecDeque::new();
        for _ in 0..100 {
            let copy = recycled.copy(&large, now).freeze();
            assert_eq!(copy, large);
            places.push(copy.as_ptr());
            waiting.push_back(copy);
            if waiting.len() == 3 {
                waiting.pop_front();
            }
        }
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 3);
        assert_eq!(recycled.bytes(), 3 * BLOCK_BYTES);
    }

    #[test]
    fn what_is_in_use_is_never_written_to() {
        let (mut recycled, now) = (BlockPool::default(), Instant::now());
        let copies: Vec<_> = (0..200_u8)
            .map(|at| {
                let bytes = vec![at; LARGE + usize::from(at) * 300];
                recycled.copy(&bytes, now).freeze()
            })
            .collect();
        for (copy, at) in copies.iter().zip(0..200_u8) {
            assert_eq!(copy.len(), LARGE + usize::from(at) * 300);
            assert!(copy.iter().all(|byte| *byte == at));
        }
        assert_eq!(recycled.bytes(), BLOCKS_MAX * BLOCK_BYTES);
    }

    #[test]
    fn a_block_that_stays_in_use_keeps_no_other_from_being_used_again() {
        let (mut recycled, now) = (BlockPool::default(), Instant::now());
        let large = vec![7; BLOCK_BYTES];
        let mut copies: Vec<_> = (0..BLOCKS_MAX)
            .map(|_| recycled.copy(&large, now))
            .collect();
        copies.truncate(1);
        let own: Vec<_> = recycled.blocks.iter().map(|block| block.as_ptr()).collect();
        drop(recycled.copy(&large, now));
        let again = recycled.copy(&large, now);
        assert!(own.contains(&again.as_ptr_range().end));
        assert_eq!(recycled.blocks.len(), BLOCKS_MAX);
    }

    #[test]
    fn what_nobody_asks_for_is_given_back() {
        let (mut recycled, now) = (BlockPool::default(), Instant::now());
        drop(recycled.copy(&[7; LARGE], now));
        drop(recycled.copy(&[7; 9], now + KEPT / 2));
        assert_eq!(recycled.bytes(), BLOCK_BYTES);
        drop(recycled.copy(&[7; 9], now + KEPT));
        assert_eq!(recycled.bytes(), 0);
    }
}
