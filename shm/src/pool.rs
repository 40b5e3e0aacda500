// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Pool`]: memory of this process for payloads, and [`Loan`], a part of it that is being filled.

use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::io;
use zonda_codec::{Payload, ZSlice};

use crate::{
    SharedBuffer,
    buffer::Use,
    counts::Counts,
    keeper,
    meta::{HEADERS, Meta, Place},
    segment::Segment,
    space::Space,
};

/// Busy buffers that a loan looks at, the oldest first, before there is need.
const LOOKED_AT: usize = 16;

/// Rounds of the keeper, a tenth of a second each, after which a buffer that no process confirms is taken back.
const MISSES_MAX: u8 = 6;

/// Error of a pool without room for a loan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no {wanted} bytes of shared memory are free in a pool of {size}: wait until receivers have given theirs back, or make it larger"
)]
pub struct Full {
    /// Bytes of the loan.
    pub wanted: usize,
    /// Bytes of the pool.
    pub size: usize,
}

/// Buffer that was lent.
#[derive(Debug)]
struct Lent {
    index: u16,
    at: usize,
    size: usize,
    misses: u8,
}

#[derive(Debug)]
struct State {
    space: Space,
    /// Headers that were never used begin here.
    fresh: u16,
    /// Headers of earlier buffers, the oldest first.
    used: VecDeque<u16>,
    lent: VecDeque<Lent>,
}

/// Memory of this process for payloads. Clones share it.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    meta: Arc<Meta>,
    data: Arc<Segment>,
    counts: Arc<Counts>,
    state: Mutex<State>,
}

impl Pool {
    /// Creates a pool of `bytes`, which lie in a file until the last payload is gone.
    pub(crate) fn create(bytes: usize, counts: Arc<Counts>) -> io::Result<Pool> {
        // Offsets have 32 bits.
        if u32::try_from(bytes).is_err() {
            return Err(io::Errno::FBIG);
        }
        let meta = Arc::new(Meta::create()?);
        let data = Arc::new(Segment::create(bytes, u32::MAX)?);
        let state = State {
            space: Space::new(bytes),
            fresh: 0,
            used: VecDeque::new(),
            lent: VecDeque::new(),
        };
        Counts::add(&counts.pools);
        let inner = Arc::new(Inner {
            meta: Arc::clone(&meta),
            data,
            counts,
            state: Mutex::new(state),
        });
        keeper::confirm(&meta);
        keeper::validate(&inner);
        Ok(Pool(inner))
    }

    /// Lends `len` bytes, of any content, to be filled. Never waits.
    ///
    /// # Errors
    /// [`Full`] while receivers hold too much of the pool.
    pub fn loan(&self, len: usize) -> Result<Loan, Full> {
        let Inner {
            meta, data, counts, ..
        } = &*self.0;
        let lent = self.0.state().lend(meta, data, len);
        let Some((index, at)) = lent else {
            Counts::add(&counts.pool_full);
            return Err(Full {
                wanted: len,
                size: data.map().len(),
            });
        };
        let used = Use::new(Arc::clone(meta), index, meta.generation(index));
        let buffer = SharedBuffer::new(used, Arc::clone(data), at..at + len.max(1), None);
        Ok(Loan {
            buffer,
            data: Arc::clone(data),
            at,
            len,
        })
    }

    /// Returns the bytes that are free now.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        let mut state = self.0.state();
        state.collect(&self.0.meta, usize::MAX);
        state.space.free_bytes()
    }

    /// Returns the number of buffers that are lent, or held by a receiver.
    #[must_use]
    pub fn lent(&self) -> usize {
        let mut state = self.0.state();
        state.collect(&self.0.meta, usize::MAX);
        state.lent.len()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back the buffers that no process uses or confirms.
    pub(crate) fn validate(&self) {
        if !self.meta.is_whole() {
            return;
        }
        let mut state = self.state();
        let mut kept = VecDeque::with_capacity(state.lent.len());
        for mut lent in std::mem::take(&mut state.lent) {
            if self.meta.was_confirmed(lent.index) || self.meta.is_in_use(lent.index) {
                lent.misses = 0;
            } else {
                lent.misses += 1;
            }
            let is_free = self.meta.references(lent.index) == 0;
            if !is_free && lent.misses < MISSES_MAX {
                kept.push_back(lent);
                continue;
            }
            if !is_free {
                Counts::add(&self.counts.reclaimed);
            }
            state.free(&self.meta, &lent, !is_free);
        }
        state.lent = kept;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        Counts::subtract(&self.counts.pools);
    }
}

impl State {
    /// Allots `len` bytes and a header to them.
    fn lend(&mut self, meta: &Meta, data: &Segment, len: usize) -> Option<(u16, usize)> {
        let size = Space::rounded(len)?;
        self.collect(meta, LOOKED_AT);
        let at = self.space.take(size).or_else(|| {
            self.collect(meta, usize::MAX);
            self.space.take(size)
        })?;
        let Some(index) = self.header() else {
            self.space.give(at, size);
            return None;
        };
        meta.begin(
            index,
            Place {
                protocol: 0,
                segment: data.id(),
                offset: at as u32,
                capacity: len.max(1) as u64,
            },
        );
        self.lent.push_back(Lent {
            index,
            at,
            size,
            misses: 0,
        });
        Some((index, at))
    }

    fn header(&mut self) -> Option<u16> {
        if self.fresh < HEADERS {
            self.fresh += 1;
            return Some(self.fresh - 1);
        }
        self.used.pop_front()
    }

    /// Takes back unreferenced buffers among the `most` oldest.
    fn collect(&mut self, meta: &Meta, most: usize) {
        for _ in 0..most.min(self.lent.len()) {
            let Some(lent) = self.lent.pop_front() else {
                return;
            };
            match meta.references(lent.index) {
                0 => self.free(meta, &lent, false),
                _ => self.lent.push_back(lent),
            }
        }
    }

    fn free(&mut self, meta: &Meta, lent: &Lent, is_lost: bool) {
        meta.retire(lent.index, is_lost);
        self.used.push_back(lent.index);
        self.space.give(lent.at, lent.size);
    }
}

/// Bytes of a pool that its user fills, and then sends or drops.
#[derive(Debug)]
pub struct Loan {
    buffer: SharedBuffer,
    data: Arc<Segment>,
    at: usize,
    len: usize,
}

impl Loan {
    /// Shortens it to its first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Ends the filling; returns the bytes as a payload, which goes to receivers of this host without a copy.
    #[must_use]
    pub fn freeze(self) -> Payload {
        let Loan { buffer, len, .. } = self;
        let whole = ZSlice::from(buffer);
        let front = whole.subslice(..len);
        Payload::from(front.unwrap_or(whole))
    }
}

impl Deref for Loan {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.data.map().view(self.at, self.len).unwrap_or(&[])
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut [u8] {
        let map = self.data.map();
        map.fill(self.at, self.len).unwrap_or_default()
    }
}

impl From<Loan> for Payload {
    fn from(loan: Loan) -> Payload {
        loan.freeze()
    }
}
