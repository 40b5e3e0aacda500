// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of a node's shared memory.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use crate::Refusal;

/// Counts, as they grow.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) taken: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) copied_in: AtomicU64,
    pub(crate) pool_full: AtomicU64,
    pub(crate) reclaimed: AtomicU64,
    pub(crate) held: Arc<AtomicU64>,
    pub(crate) segments: AtomicU64,
    pub(crate) pools: AtomicU64,
    pub(crate) links: AtomicU64,
    refused: [AtomicU64; Refusal::COUNT],
}

impl Counts {
    pub(crate) fn add(count: &AtomicU64) {
        count.fetch_add(1, Relaxed);
    }

    pub(crate) fn subtract(count: &AtomicU64) {
        count.fetch_sub(1, Relaxed);
    }

    pub(crate) fn refuse(&self, refusal: &Refusal) {
        Counts::add(&self.refused[refusal.number()]);
    }

    pub(crate) fn read(&self) -> Counted {
        Counted {
            taken: self.taken.load(Relaxed),
            sent: self.sent.load(Relaxed),
            copied_in: self.copied_in.load(Relaxed),
            pool_full: self.pool_full.load(Relaxed),
            reclaimed: self.reclaimed.load(Relaxed),
            held: self.held.load(Relaxed),
            segments: self.segments.load(Relaxed),
            pools: self.pools.load(Relaxed),
            links: self.links.load(Relaxed),
            refused: std::array::from_fn(|reason| self.refused[reason].load(Relaxed)),
        }
    }
}

/// Counts at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted {
    /// Payloads received as descriptors.
    pub taken: u64,
    /// Payloads sent as descriptors.
    pub sent: u64,
    /// Ordinary payloads copied into the node's pool.
    pub copied_in: u64,
    /// Number of times that a pool had no room.
    pub pool_full: u64,
    /// Buffers taken back from holders that ended without giving them back.
    pub reclaimed: u64,
    /// Buffers of other processes that are held now.
    pub held: u64,
    /// Segments of other processes that are mapped now.
    pub segments: u64,
    /// Own pools.
    pub pools: u64,
    /// Links whose ends share memory now.
    pub links: u64,
    /// Payloads and segments refused, by [`Refusal::number`].
    pub refused: [u64; Refusal::COUNT],
}
