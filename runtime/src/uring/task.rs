// SPDX-License-Identifier: MIT OR Apache-2.0
//! One task of a shard: a future that only its shard's thread polls and drops, and a waker that any thread may use.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::shard::Shard;
use crate::guard::{caught, drop_guarded};

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What one poll of a task came to.
pub(super) enum Progress {
    /// It has not ended.
    Waits,
    /// It has ended with this poll.
    Ends,
    /// It had ended before; a late wake-up.
    Over,
}

/// A task and its place in the shard's queue.
pub(super) struct Task {
    shard: Arc<Shard>,
    /// Whether it waits in a queue; a wake-up meanwhile changes nothing.
    queued: AtomicBool,
    /// Whether the shard's thread keeps it.
    kept: AtomicBool,
    /// `None` once it has ended. Locked by the shard's thread only.
    work: Mutex<Option<Work>>,
}

impl Task {
    /// A task that has not run yet. The caller queues it.
    pub(super) fn new(
        shard: &Arc<Shard>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<Self> {
        Arc::new(Task {
            shard: Arc::clone(shard),
            queued: AtomicBool::new(true),
            kept: AtomicBool::new(false),
            work: Mutex::new(Some(Box::pin(work))),
        })
    }

    /// Polls the task once, on the shard's thread.
    pub(super) fn run(self: &Arc<Self>) -> Progress {
        // From here on a wake-up queues it again.
        self.queued.swap(false, Ordering::AcqRel);
        let mut slot = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(work) = slot.as_mut() else {
            return Progress::Over;
        };
        let waker = Waker::from(Arc::clone(self));
        let mut context = Context::from_waker(&waker);
        let polled = caught(|| work.as_mut().poll(&mut context));
        if let Ok(Poll::Pending) = polled {
            return Progress::Waits;
        }
        drop_quietly(slot.take());
        Progress::Ends
    }

    /// Drops what the task still is, on the shard's thread.
    pub(super) fn cancel(&self) {
        drop_quietly(
            self.work
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }

    /// Notes that the shard's thread keeps the task. True the first time.
    pub(super) fn keep(&self) -> bool {
        !self.kept.swap(true, Ordering::Relaxed)
    }

    /// Whether [`Task::keep`] was called.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }
}

/// A panic of a destructor must not end the thread that other tasks run on.
fn drop_quietly(work: Option<Work>) {
    if !drop_guarded(work) {
        tracing::error!("a task panicked while it was dropped; the others go on");
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            let shard = Arc::clone(&self.shard);
            shard.queue(self);
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.shard.queue(Arc::clone(self));
        }
    }
}
