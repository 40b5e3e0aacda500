// SPDX-License-Identifier: MIT OR Apache-2.0

//! Samples that wait until older ones have come.

use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::handlers::Stored;
use crate::sample::Sample;

/// Limit of the held samples of one source, until a gap is filled.
pub(in crate::ext) const HELD_MAX: usize = 8192;

/// Limit of the held bytes of one source, until a gap is filled.
const HELD_BYTES_MAX: usize = 16 << 20;

/// Limit of the held bytes of all sources of a subscriber, until gaps are filled.
pub(in crate::ext) const ALL_BYTES_MAX: usize = 64 << 20;

/// Bytes that the sources of one subscriber hold together. Clones share one count.
#[derive(Clone, Default)]
pub(in crate::ext) struct Budget(Arc<AtomicUsize>);

impl Budget {
    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns the bytes that holding a sample takes.
pub(in crate::ext) fn held_bytes(sample: &Sample) -> usize {
    let attached = sample.attachment().map_or(0, |attachment| attachment.len());
    size_of::<Sample>() + sample.payload().len() + attached
}

/// Samples of one source in the order of their places, and their size.
pub(in crate::ext) struct Held<P> {
    samples: BTreeMap<P, (Sample, usize)>,
    bytes: usize,
    budget: Budget,
}

impl<P> Drop for Held<P> {
    fn drop(&mut self) {
        self.budget.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl<P: Ord + Copy> Held<P> {
    pub fn new(budget: &Budget) -> Held<P> {
        Held {
            samples: BTreeMap::new(),
            bytes: 0,
            budget: budget.clone(),
        }
    }

    /// Inserts a sample with its own buffers, unless its place has one already.
    pub fn insert(&mut self, place: P, sample: Sample) {
        if let Entry::Vacant(vacant) = self.samples.entry(place) {
            let sample = sample.before_storing();
            let bytes = held_bytes(&sample);
            vacant.insert((sample, bytes));
            self.bytes += bytes;
            self.budget.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Compares with the limits: returns true if it holds `depth` samples, or as many as may ever
    /// be held of a source or of all together.
    pub fn is_full(&self, depth: usize) -> bool {
        self.samples.len() >= depth.min(HELD_MAX)
            || self.bytes >= HELD_BYTES_MAX
            || self.budget.bytes() >= ALL_BYTES_MAX
    }

    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// Returns the first place.
    pub fn first(&self) -> Option<P> {
        self.samples.first_key_value().map(|(place, _)| *place)
    }

    /// Returns all places, in order.
    pub fn places(&self) -> impl Iterator<Item = P> {
        self.samples.keys().copied()
    }

    /// Returns the last place.
    pub fn last(&self) -> Option<P> {
        self.samples.last_key_value().map(|(place, _)| *place)
    }

    /// Removes and returns the first sample and its place.
    pub fn pop(&mut self) -> Option<(P, Sample)> {
        let (place, (sample, bytes)) = self.samples.pop_first()?;
        self.release(bytes);
        Some((place, sample))
    }

    /// Removes and returns the sample of this place.
    pub fn remove(&mut self, place: P) -> Option<Sample> {
        let (sample, bytes) = self.samples.remove(&place)?;
        self.release(bytes);
        Some(sample)
    }

    fn release(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.budget.0.fetch_sub(bytes, Ordering::Relaxed);
    }
}
