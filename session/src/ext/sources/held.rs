// SPDX-License-Identifier: MIT OR Apache-2.0

//! Samples that wait until older ones have come.

use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::handlers::Stored;
use crate::sample::Sample;

/// How many samples of one source are held at most until a gap is filled.
pub(in crate::ext) const HELD_MAX: usize = 8192;

/// How many bytes of one source are held at most until a gap is filled.
const HELD_BYTES_MAX: usize = 16 << 20;

/// How many bytes of all sources of a subscriber are held at most until gaps are filled.
const ALL_BYTES_MAX: usize = 64 << 20;

/// What the sources of one subscriber hold together. Clones are the same.
#[derive(Clone, Default)]
pub(in crate::ext) struct Budget(Arc<AtomicUsize>);

/// What holding a sample takes.
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

    /// Keeps a sample with buffers of its own, unless one is kept at its place already.
    pub fn insert(&mut self, place: P, sample: Sample) {
        if let Entry::Vacant(vacant) = self.samples.entry(place) {
            let sample = sample.before_storing();
            let bytes = held_bytes(&sample);
            vacant.insert((sample, bytes));
            self.bytes += bytes;
            self.budget.0.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Whether `depth` samples, or as many as may ever be held of a source or of all together, are here.
    pub fn is_full(&self, depth: usize) -> bool {
        self.samples.len() >= depth.min(HELD_MAX)
            || self.bytes >= HELD_BYTES_MAX
            || self.budget.0.load(Ordering::Relaxed) >= ALL_BYTES_MAX
    }

    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The first place.
    pub fn first(&self) -> Option<P> {
        self.samples.first_key_value().map(|(place, _)| *place)
    }

    /// All places, in order.
    pub fn places(&self) -> impl Iterator<Item = P> {
        self.samples.keys().copied()
    }

    /// The last place.
    pub fn last(&self) -> Option<P> {
        self.samples.last_key_value().map(|(place, _)| *place)
    }

    /// Takes the first sample and its place.
    pub fn pop(&mut self) -> Option<(P, Sample)> {
        let (place, (sample, bytes)) = self.samples.pop_first()?;
        self.bytes -= bytes;
        self.budget.0.fetch_sub(bytes, Ordering::Relaxed);
        Some((place, sample))
    }
}
