// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a message that grows as its pieces arrive, and the memory kept for later ones.

use std::{collections::VecDeque, sync::Arc};

use zonda_codec::{SliceBuffer, ZSlice};

use crate::ledger::{Charge, Ledger};

/// First allocation for a message, in bytes.
const FIRST_BYTES: usize = 4096;

/// Maximum bytes of all vectors kept for later messages; a larger one is kept only as the last one.
pub(super) const SPARE_BYTES_MAX: usize = 4 << 20;

/// Maximum number of vectors kept for later messages.
const SPARES_MAX: usize = 16;

/// Maximum by which a message grows ahead of its received bytes.
const AHEAD_BYTES_MAX: usize = 64 << 20;

/// Divisor of the memory: a message smaller than that part gets memory of its own size.
const PART_MIN: usize = 4;

/// Front of a message. The rest of the vector is memory to read into.
#[derive(Debug, Default)]
pub(super) struct MessageBuffer {
    bytes: Vec<u8>,
    filled: usize,
    charge: Charge,
}

impl MessageBuffer {
    /// Returns the bytes of the message so far.
    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    /// Returns the bytes allocated.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Makes room for `more` bytes by doubling; false if the node's memory is used up, or the allocator has none.
    pub(super) fn reserve(&mut self, more: usize) -> bool {
        let needed = self.filled.saturating_add(more);
        if needed <= self.bytes.capacity() {
            return true;
        }
        let most = AHEAD_BYTES_MAX.min(self.charge.ahead_max());
        let ahead = self.filled.saturating_add(self.filled.min(most));
        let target = needed.max(ahead).max(FIRST_BYTES);
        self.charge.try_set(target)
            && self
                .bytes
                .try_reserve_exact(target - self.bytes.len())
                .is_ok()
    }

    /// Makes room for `more` bytes and initialises them, so that a socket may write them. Memory
    /// that was used before is left as it is.
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

    /// Appends bytes, for which room was made.
    pub(super) fn append(&mut self, piece: &[u8]) {
        let over = piece.len().min(self.bytes.len() - self.filled);
        let (front, back) = piece.split_at(over);
        self.bytes[self.filled..self.filled + over].copy_from_slice(front);
        self.bytes.extend_from_slice(back);
        self.filled += piece.len();
    }

    /// Appends the `count` bytes that lie behind the message.
    pub(super) fn advance(&mut self, count: usize) {
        self.filled = (self.filled + count).min(self.bytes.len());
    }

    /// Writes bytes behind the message that are no part of it yet.
    pub(super) fn put_behind(&mut self, bytes: &[u8]) {
        if let Some(behind) = self.bytes.get_mut(self.filled..self.filled + bytes.len()) {
            behind.copy_from_slice(bytes);
        }
    }

    /// Returns the `count` bytes behind the message.
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

    /// Lends the vector, to be read into from [`MessageBuffer::filled`] on.
    pub(super) fn lend(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Takes the lent vector back.
    pub(super) fn take_back(&mut self, bytes: Vec<u8>) {
        self.filled = self.filled.min(bytes.len());
        self.bytes = bytes;
    }
}

/// Memory of a message, counted until it is freed.
#[derive(Debug)]
struct Memory {
    bytes: Vec<u8>,
    charge: Charge,
}

impl SliceBuffer for Memory {
    fn as_slice(&self) -> &[u8] {
        &self.bytes
    }
}

/// Memory of delivered messages, reusable once no slice of it is left.
#[derive(Debug, Default)]
pub(super) struct BufferPool {
    kept: VecDeque<Arc<Memory>>,
    ledger: Option<Arc<Ledger>>,
}

impl BufferPool {
    /// Creates an empty pool, whose allocations count in `ledger`.
    pub(super) fn counted_in(ledger: &Arc<Ledger>) -> Self {
        BufferPool {
            kept: VecDeque::new(),
            ledger: Some(Arc::clone(ledger)),
        }
    }

    /// Returns an empty message over reusable memory, if any is free: the latest, which is most
    /// likely in the cache.
    pub(super) fn take(&mut self) -> MessageBuffer {
        let free = self
            .kept
            .iter()
            .rposition(|spare| Arc::strong_count(spare) == 1);
        let memory = free
            .and_then(|index| self.kept.remove(index))
            .and_then(Arc::into_inner);
        let Memory { bytes, mut charge } = memory.unwrap_or_else(|| Memory {
            bytes: Vec::new(),
            charge: self.charge(),
        });
        charge.set(bytes.capacity());
        MessageBuffer {
            bytes,
            filled: 0,
            charge,
        }
    }

    fn charge(&self) -> Charge {
        self.ledger.as_ref().map(Ledger::charge).unwrap_or_default()
    }

    /// Returns the finished message as a slice, whose memory may be reused. A message that is small
    /// for its memory gets memory of its own, as its receiver may keep it for long.
    pub(super) fn finish(&mut self, message: MessageBuffer) -> ZSlice {
        let MessageBuffer {
            mut bytes,
            filled,
            mut charge,
        } = message;
        if bytes.capacity() > FIRST_BYTES && filled < bytes.capacity() / PART_MIN {
            let own = bytes.get(..filled).unwrap_or(&[]).to_vec();
            let own_charge = self.charge();
            self.keep(Arc::new(Memory { bytes, charge }));
            (bytes, charge) = (own, own_charge);
            charge.set(filled);
            charge.hand_on();
            return slice(Arc::new(Memory { bytes, charge }), filled);
        }
        charge.hand_on();
        let memory = Arc::new(Memory { bytes, charge });
        self.keep(Arc::clone(&memory));
        slice(memory, filled)
    }

    /// Returns the bytes that may be reused.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.kept.iter().map(|spare| spare.bytes.capacity()).sum()
    }

    /// Keeps the newest whatever its size, and older ones as far as there is room for them.
    fn keep(&mut self, memory: Arc<Memory>) {
        self.kept.push_back(memory);
        self.trim(1);
    }

    /// Frees the oldest until the pool is within its limit, or only `newest` are left.
    fn trim(&mut self, newest: usize) {
        while self.kept.len() > newest
            && (self.kept.len() > SPARES_MAX || self.allocated_bytes() > SPARE_BYTES_MAX)
        {
            self.kept.pop_front();
        }
    }

    /// Returns true if more is kept than an idle link should keep.
    pub(super) fn is_large(&self) -> bool {
        self.allocated_bytes() > SPARE_BYTES_MAX
    }

    /// Frees memory that an idle link should not keep.
    pub(super) fn release_large(&mut self) {
        self.trim(0);
    }
}

fn slice(memory: Arc<Memory>, filled: usize) -> ZSlice {
    ZSlice::new(memory, 0, filled).unwrap_or_else(|_| ZSlice::empty())
}
