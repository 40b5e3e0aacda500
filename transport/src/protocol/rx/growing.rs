// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a message that grows as its pieces arrive, and the memory kept for later ones.

use std::{collections::VecDeque, sync::Arc};

use zenoh_buffers::ZSlice;

/// The first allocation for a message, in bytes.
const FIRST_BYTES: usize = 4096;

/// Vectors kept for later messages that are no larger together than this; besides them only the last one is kept.
pub(super) const SPARE_BYTES_MAX: usize = 4 << 20;

/// Most vectors kept for later messages.
const SPARES_MAX: usize = 16;

/// The front of a message. What lies behind it in the vector is memory to read into.
#[derive(Debug, Default)]
pub(super) struct Growing {
    bytes: Vec<u8>,
    filled: usize,
}

impl Growing {
    /// Bytes of the message so far.
    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    /// Bytes allocated.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Makes room for `more` bytes by doubling; false if the allocator has none.
    pub(super) fn reserve(&mut self, more: usize) -> bool {
        let needed = self.filled.saturating_add(more);
        if needed <= self.bytes.capacity() {
            return true;
        }
        let target = needed.max(self.filled.saturating_mul(2)).max(FIRST_BYTES);
        self.bytes
            .try_reserve_exact(target - self.bytes.len())
            .is_ok()
    }

    /// Makes room for `more` bytes and makes them readable memory, so that a socket may write them. Memory that served
    /// before is left as it is.
    pub(super) fn prepare(&mut self, more: usize) -> bool {
        if !self.reserve(more) {
            return false;
        }
        let end = self.filled + more;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        true
    }

    /// Adds bytes, for which room was made.
    pub(super) fn append(&mut self, piece: &[u8]) {
        let over = piece.len().min(self.bytes.len() - self.filled);
        let (front, back) = piece.split_at(over);
        self.bytes[self.filled..self.filled + over].copy_from_slice(front);
        self.bytes.extend_from_slice(back);
        self.filled += piece.len();
    }

    /// Counts `count` bytes that lie behind the message as part of it.
    pub(super) fn advance(&mut self, count: usize) {
        self.filled = (self.filled + count).min(self.bytes.len());
    }

    /// Puts bytes behind the message that are no part of it yet.
    pub(super) fn put_behind(&mut self, bytes: &[u8]) {
        if let Some(behind) = self.bytes.get_mut(self.filled..self.filled + bytes.len()) {
            behind.copy_from_slice(bytes);
        }
    }

    /// The `count` bytes behind the message.
    pub(super) fn behind(&self, count: usize) -> &[u8] {
        self.bytes
            .get(self.filled..self.filled + count)
            .unwrap_or(&[])
    }

    /// Removes the first `skip` of the `count` bytes behind the message.
    pub(super) fn close_gap(&mut self, skip: usize, count: usize) {
        let end = (self.filled + count).min(self.bytes.len());
        let from = (self.filled + skip).min(end);
        self.bytes.copy_within(from..end, self.filled);
    }

    /// Lends the vector out, to be read into from [`Growing::filled`] on.
    pub(super) fn lend(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Takes back what was lent.
    pub(super) fn take_back(&mut self, bytes: Vec<u8>) {
        self.filled = self.filled.min(bytes.len());
        self.bytes = bytes;
    }
}

/// Vectors of messages that were delivered, each to serve again once nobody holds it any more.
#[derive(Debug, Default)]
pub(super) struct Spares(VecDeque<Arc<Vec<u8>>>);

impl Spares {
    /// An empty message over memory that served before, if any is free: the latest, which the cache knows best.
    pub(super) fn take(&mut self) -> Growing {
        let free = self
            .0
            .iter()
            .rposition(|spare| Arc::strong_count(spare) == 1);
        let bytes = free
            .and_then(|index| self.0.remove(index))
            .and_then(Arc::into_inner);
        Growing {
            bytes: bytes.unwrap_or_default(),
            filled: 0,
        }
    }

    /// The finished message as a slice, whose memory may serve again.
    pub(super) fn finish(&mut self, message: Growing) -> ZSlice {
        let Growing { bytes, filled } = message;
        let bytes = Arc::new(bytes);
        self.keep(Arc::clone(&bytes));
        ZSlice::new(bytes, 0, filled).unwrap_or_else(|_| ZSlice::empty())
    }

    /// Keeps the memory of a message that was given up.
    pub(super) fn keep_unused(&mut self, message: Growing) {
        if message.capacity() > 0 {
            self.keep(Arc::new(message.bytes));
        }
    }

    /// Bytes that may serve again.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.0.iter().map(|spare| spare.capacity()).sum()
    }

    /// Keeps the newest whatever its size, and others as far as there is room for them.
    fn keep(&mut self, bytes: Arc<Vec<u8>>) {
        self.0.push_back(bytes);
        self.trim(1);
    }

    /// Lets go of the oldest until what is kept is within its limit, or only `newest` are left.
    fn trim(&mut self, newest: usize) {
        while self.0.len() > newest
            && (self.0.len() > SPARES_MAX || self.allocated_bytes() > SPARE_BYTES_MAX)
        {
            self.0.pop_front();
        }
    }

    /// Whether more is kept than an idle link should.
    pub(super) fn is_large(&self) -> bool {
        self.allocated_bytes() > SPARE_BYTES_MAX
    }

    /// Lets go of what an idle link should not keep.
    pub(super) fn release_large(&mut self) {
        self.trim(0);
    }
}
