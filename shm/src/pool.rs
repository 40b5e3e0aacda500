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
    keeper::{self, Task},
    kept::Kept,
    meta::{HEADERS, Meta, Place},
    segment::Segment,
    space::Space,
};

/// Busy buffers that a loan looks at, the oldest first, before there is need.
const LOOKED_AT: usize = 16;

/// Bytes that the system is asked for at once.
const RESERVED_AT_ONCE: usize = 256 * 1024;

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
    /// Bytes from the beginning on that the system has set aside.
    reserved: usize,
    /// Set once the system had no more memory.
    was_refused: bool,
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
    kept: Kept,
}

impl Pool {
    /// Creates a pool of `bytes`, which lie in a file until the last payload is gone. The system sets memory aside for the
    /// whole of it with `at_once`, otherwise for what is lent.
    pub(crate) fn create(bytes: usize, at_once: bool, counts: Arc<Counts>) -> io::Result<Pool> {
        // Offsets have 32 bits.
        if u32::try_from(bytes).is_err() {
            return Err(io::Errno::FBIG);
        }
        let meta = Arc::new(Meta::create()?);
        let data = Arc::new(Segment::create(bytes, u32::MAX)?);
        let reserved = if at_once { bytes } else { 0 };
        if at_once {
            data.reserve(0..bytes)?;
        }
        let state = State {
            space: Space::new(bytes),
            reserved,
            was_refused: false,
            fresh: 0,
            used: VecDeque::new(),
            lent: VecDeque::new(),
        };
        Counts::add(&counts.pools);
        let inner = Arc::new(Inner {
            meta,
            data,
            counts,
            state: Mutex::new(state),
            kept: Kept::default(),
        });
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
        // The keeper looks at the files while it knows of the pool.
        let can_lend = self.0.kept.is_known() || self.0.is_whole();
        let lent = match can_lend {
            true => self.0.state().lend(meta, data, len),
            false => None,
        };
        if self.0.kept.is_new() {
            keeper::keep(&self.0);
        }
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
        self.0.collected().space.free_bytes()
    }

    #[cfg(test)]
    pub(crate) fn is_lost(&self) -> bool {
        self.0.is_lost()
    }

    /// Returns the number of buffers that are lent, or held by a receiver.
    #[must_use]
    pub fn lent(&self) -> usize {
        self.0.collected().lent.len()
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the files: true if all bytes are there.
    fn is_whole(&self) -> bool {
        let was_lost = self.is_lost();
        let is_whole = self.meta.is_whole() && self.data.is_whole();
        if !is_whole && !was_lost {
            tracing::warn!(
                "a process of this user has truncated a pool of shared memory: payloads go over links from now on"
            );
        }
        is_whole
    }

    /// Returns true if a look has found that bytes are missing.
    fn is_lost(&self) -> bool {
        self.meta.is_lost() || self.data.is_lost()
    }

    /// Returns the state without the buffers that no process uses.
    fn collected(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        if !self.meta.is_lost() {
            state.collect(&self.meta, usize::MAX);
        }
        state
    }

    /// Takes back the buffers that no process uses or confirms.
    fn validate(&self) {
        if !self.is_whole() {
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

impl Task for Inner {
    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn work(&self, round: u64) {
        if round.is_multiple_of(2) {
            self.validate();
        }
    }

    fn has_work(&self) -> bool {
        !self.state().lent.is_empty()
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
        if meta.is_lost() || data.is_lost() {
            return None;
        }
        // A part of the memory, and a header.
        self.collect(meta, LOOKED_AT);
        let at = self.space.take(size).or_else(|| {
            self.collect(meta, usize::MAX);
            self.space.take(size)
        })?;
        let header = self
            .reserve(data, at + size)
            .then(|| self.header(meta))
            .flatten();
        let Some(index) = header else {
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

    fn header(&mut self, meta: &Meta) -> Option<u16> {
        if self.fresh < HEADERS && meta.reserve(self.fresh).is_ok() {
            self.fresh += 1;
            return Some(self.fresh - 1);
        }
        self.used.pop_front()
    }

    /// Has the system set memory aside up to `end`; false if there is none.
    fn reserve(&mut self, data: &Segment, end: usize) -> bool {
        if end > self.reserved {
            let wanted = end.next_multiple_of(RESERVED_AT_ONCE).min(data.map().len());
            if let Err(error) = data.reserve(self.reserved..wanted) {
                if !self.was_refused {
                    tracing::warn!(
                        "no memory for {wanted} bytes of a pool in shared memory: {error}; payloads go over links while there is \
                         none. Is /dev/shm too small?"
                    );
                }
                self.was_refused = true;
                return false;
            }
            self.reserved = wanted;
        }
        true
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
