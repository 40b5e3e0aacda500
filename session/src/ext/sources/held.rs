// SPDX-License-Identifier: MIT OR Apache-2.0

//! Samples that wait until older ones have come.

use std::collections::btree_map::{BTreeMap, Entry};

use crate::handlers::Stored;
use crate::sample::Sample;

/// How many samples of one source are held at most until a gap is filled.
pub(super) const HELD_MAX: usize = 8192;

/// How many bytes of one source are held at most until a gap is filled.
const HELD_BYTES_MAX: usize = 16 << 20;

/// Samples of one source in the order of their places, and their size.
pub(super) struct Held<P> {
    samples: BTreeMap<P, (Sample, usize)>,
    bytes: usize,
}

impl<P: Ord + Copy> Held<P> {
    pub fn new() -> Held<P> {
        Held {
            samples: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Keeps a sample with buffers of its own, unless one is kept at its place already.
    pub fn insert(&mut self, place: P, sample: Sample) {
        if let Entry::Vacant(vacant) = self.samples.entry(place) {
            let sample = sample.before_storing();
            let attached = sample.attachment().map_or(0, |attachment| attachment.len());
            let bytes = size_of::<Sample>() + sample.payload().len() + attached;
            vacant.insert((sample, bytes));
            self.bytes += bytes;
        }
    }

    /// Whether no more than `depth` samples, or than may ever be held of a source, are here.
    pub fn is_full(&self, depth: usize) -> bool {
        self.samples.len() >= depth.min(HELD_MAX) || self.bytes >= HELD_BYTES_MAX
    }

    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The first place.
    pub fn first(&self) -> Option<P> {
        self.samples.first_key_value().map(|(place, _)| *place)
    }

    /// The last place.
    pub fn last(&self) -> Option<P> {
        self.samples.last_key_value().map(|(place, _)| *place)
    }

    /// Takes the first sample and its place.
    pub fn pop(&mut self) -> Option<(P, Sample)> {
        let (place, (sample, bytes)) = self.samples.pop_first()?;
        self.bytes -= bytes;
        Some((place, sample))
    }
}
