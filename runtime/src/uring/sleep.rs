// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a deadline, on whatever thread.
//!
//! A shard's wait for completions takes a timeout in nanoseconds and needs no descriptor, so that long and short waits
//! are the same here. A thread that is parked in `block_on` looks after its deadlines itself: it may be the shard's,
//! inside of a callback, or the shard's may be held up by one.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::shard::Shard;
use super::worker;
use crate::park;
use crate::timers::{Key, Timers};

/// Completes at its deadline, or when the runtime is gone.
pub(super) struct Sleep {
    shard: Arc<Shard>,
    deadline: Instant,
    /// Who looks after it.
    entry: Option<(Arc<Timers>, Key)>,
}

impl Sleep {
    /// A sleep that `shard` looks after unless the thread that waits for it does.
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
        if let Some((present, key)) = &self.entry
            && Arc::ptr_eq(present, timers)
            && timers.update(*key, waker)
        {
            return Poll::Pending;
        }
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
