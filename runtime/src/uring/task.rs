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

/// The outcome of one poll of a task.
pub(super) enum Progress {
    /// The task has not ended.
    Waits,
    /// The task has ended with this poll.
    Ends,
    /// The task had ended before; a late wake-up.
    Over,
}

/// A task and its state in the shard's queue.
pub(super) struct Task {
    shard: Arc<Shard>,
    /// Set while the task is in a queue; further wake-ups have no effect then.
    queued: AtomicBool,
    /// Set once the shard's thread keeps the task.
    kept: AtomicBool,
    /// The future; `None` once the task has ended. Locked by the shard's thread only.
    work: Mutex<Option<Work>>,
}

impl Task {
    /// Creates a task that has not run yet. The caller queues it.
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
        // from here on a wake-up queues the task again
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

    /// Drops the task's future, on the shard's thread.
    pub(super) fn cancel(&self) {
        drop_quietly(
            self.work
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
    }

    /// Marks the task as kept by the shard's thread. Returns true the first time.
    pub(super) fn keep(&self) -> bool {
        !self.kept.swap(true, Ordering::Relaxed)
    }

    /// Returns true if [`Task::keep`] was called.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }
}

/// Drops a future. A panic of its destructor is logged and does not end the thread that other tasks
/// run on.
fn drop_quietly(work: Option<Work>) {
    if !drop_guarded(work) {
        tracing::error!("a task panicked while it was dropped; all others continue");
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
