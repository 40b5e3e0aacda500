// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waits for a deadline, on any thread.
//!
//! A shard's wait for completions takes a timeout in nanoseconds and needs no descriptor, so long
//! and short waits are equal here. A thread that is parked in `block_on` fires its deadlines
//! itself: it may be the shard's own thread inside a callback, or a callback may hold up the
//! shard's thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::shard::Shard;
use super::worker;
use crate::park;
use crate::timers::{Key, Timers};

/// A future that completes at its deadline, or when the runtime is gone.
pub(super) struct Sleep {
    shard: Arc<Shard>,
    deadline: Instant,
    /// The timers that fire the sleep, and its key there.
    entry: Option<(Arc<Timers>, Key)>,
}

impl Sleep {
    /// Creates a sleep that `shard` fires unless the waiting thread is parked and fires it itself.
    pub(super) fn new(shard: Arc<Shard>, deadline: Instant) -> Self {
        Sleep {
            shard,
            deadline,
            entry: None,
        }
    }

    fn forget(&mut self) {
        if let Some((timers, key)) = self.entry.take() {
            timers.remove(key);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.deadline <= Instant::now() {
            return Poll::Ready(());
        }
        let waker = context.waker();
        let parked = park::timers(waker);
        let timers = parked.as_ref().unwrap_or_else(|| self.shard.timers());
        // the entry exists: refresh its waker
        if let Some((present, key)) = &self.entry
            && Arc::ptr_eq(present, timers)
            && timers.update(*key, waker)
        {
            return Poll::Pending;
        }
        // no entry yet, or in the timers of another thread
        let timers = Arc::clone(timers);
        self.forget();
        let Some((key, first)) = timers.insert(self.deadline, waker) else {
            return Poll::Ready(());
        };
        self.entry = Some((timers, key));
        if first && parked.is_none() && !worker::is_here(&self.shard) {
            self.shard.interrupt();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.forget();
    }
}
