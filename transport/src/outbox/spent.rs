// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payloads that were sent or given up, kept until no lock is held.
//!
//! A payload may belong to a user, whose code runs when the last reference is dropped, and may
//! publish. A function that takes batches apart under a lock therefore keeps their payloads here,
//! and drops the `SpentPayloads` after it has released the lock.

use std::cell::Cell;

use zonda_codec::ZSlice;
use zonda_runtime::guard::caught;

use crate::log_limit::LogLimit;
use crate::protocol::tx::Batch;

/// Maximum slices of one vectored write; two for each batch.
pub(super) const SLICES_MAX: usize = 64;

/// Capacity that a thread keeps for its next write: as many payloads as one write can empty.
const KEPT_MAX: usize = SLICES_MAX;

thread_local! {
    /// Vector to be reused.
    static ROOM: Cell<Vec<ZSlice>> = const { Cell::new(Vec::new()) };
}

/// Payloads to be dropped with no lock held. An empty list allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct SpentPayloads(Vec<ZSlice>);

impl SpentPayloads {
    /// Takes a batch apart: keeps its payload and returns its buffer.
    #[inline]
    pub(crate) fn take_apart(&mut self, batch: Batch) -> Box<[u8]> {
        let (buffer, tail) = batch.into_parts();
        if let Some(tail) = tail {
            self.keep(tail);
        }
        buffer
    }

    /// Keeps a payload until this is dropped.
    #[inline(never)]
    pub(crate) fn keep(&mut self, payload: ZSlice) {
        if self.0.capacity() == 0 {
            // A thread that is ending has no vector to reuse.
            self.0 = ROOM.try_with(Cell::take).unwrap_or_default();
        }
        self.0.push(payload);
    }

    /// Returns the kept payloads, if there are any.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<SpentPayloads> {
        (!self.0.is_empty()).then(|| SpentPayloads(std::mem::take(&mut self.0)))
    }

    #[cold]
    fn let_all_go(&mut self) {
        let mut room = std::mem::take(&mut self.0);
        if caught(|| room.clear()).is_err() {
            static LIMIT: LogLimit = LogLimit::new();
            if let Some(left_out) = LIMIT.admit(crate::clock::now()) {
                tracing::error!("the owner of a payload panicked while it was dropped{left_out}");
            }
        }
        if room.capacity() <= KEPT_MAX {
            let _ = ROOM.try_with(|kept| kept.set(room));
        }
    }
}

impl Drop for SpentPayloads {
    /// Drops the payloads. No lock may be held: the code of any payload's owner may run.
    #[inline]
    fn drop(&mut self) {
        if !self.0.is_empty() {
            self.let_all_go();
        }
    }
}
