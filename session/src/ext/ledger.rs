// SPDX-License-Identifier: MIT OR Apache-2.0

//! Samples of an advanced publisher: their count, and the newest of them. A sample gets its number and its
//! place in the cache at once, so they are kept in the order of their numbers.

use std::time::SystemTime;

use super::cache::{Cache, Chosen, EvictedSamples, SampleExtras};
use super::cache_config::CacheConfig;
use crate::bytes::{Encoding, ZBytes};
use crate::query::Parameters;

/// The samples of a publisher.
#[derive(Debug)]
pub(super) struct Ledger {
    published: u64,
    cache: Cache,
}

impl Ledger {
    /// Creates the ledger of a publisher whose default encoding is this one.
    pub fn new(cache: &CacheConfig, encoding: &Encoding) -> Ledger {
        Ledger {
            published: 0,
            cache: Cache::new(cache, encoding),
        }
    }

    /// Returns the number of samples so far.
    pub fn published(&self) -> u64 {
        self.published
    }

    /// Enters a sample and returns its number. Evicted samples go to `spilled`.
    #[inline(always)]
    pub fn enter(
        &mut self,
        payload: &ZBytes,
        beside: SampleExtras,
        spilled: &mut EvictedSamples,
    ) -> u32 {
        let number = self.published as u32;
        self.published += 1;
        self.cache.keep(payload, beside, spilled);
        number
    }

    /// Returns the samples for a query with these parameters, the oldest first; with numbers if the
    /// publisher's messages have them.
    pub fn chosen(
        &self,
        parameters: &Parameters<'_>,
        now: SystemTime,
        is_numbered: bool,
    ) -> Vec<Chosen> {
        let next = is_numbered.then_some(self.published as u32);
        self.cache.chosen(parameters, now, next)
    }

    /// Returns the bytes of the samples that [`chosen`](Self::chosen) would return.
    pub fn weigh(&self, parameters: &Parameters<'_>, now: SystemTime, is_numbered: bool) -> usize {
        let next = is_numbered.then_some(self.published as u32);
        self.cache.weigh(parameters, now, next)
    }

    /// Returns the limit of bytes.
    pub fn max_bytes(&self) -> usize {
        self.cache.max_bytes()
    }
}
