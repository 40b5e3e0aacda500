// SPDX-License-Identifier: MIT OR Apache-2.0
//! The shared part of one io_uring thread: its inbox, its timers, its load.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::task::Task;
use super::worker;
use crate::timers::Timers;

/// One thread of a runtime, as other threads see it.
pub(super) struct Shard {
    /// The runtime's number, equal for all of its shards.
    pool: usize,
    /// Interrupts the thread's wait for completions.
    waker: Waker,
    inbox: Mutex<Inbox>,
    timers: Arc<Timers>,
    /// Tasks that have not ended.
    tasks: AtomicUsize,
    stopping: AtomicBool,
    born: Instant,
    /// Time at which the thread began to run tasks, in microseconds since `born`; 0 while it waits.
    running_since: AtomicU64,
}

/// The time after which a thread that has run tasks without polling its ring counts as held up by
/// one of them.
const STUCK: Duration = Duration::from_millis(20);

/// Tasks handed over by other threads.
#[derive(Default)]
struct Inbox {
    closed: bool,
    tasks: Vec<Arc<Task>>,
}

impl Shard {
    pub(super) fn new(pool: usize, waker: Waker) -> Self {
        Shard {
            pool,
            waker,
            inbox: Mutex::default(),
            timers: Arc::default(),
            born: Instant::now(),
            running_since: AtomicU64::new(0),
            tasks: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
        }
    }

    /// Returns the number of the runtime that this shard belongs to.
    pub(super) fn pool(&self) -> usize {
        self.pool
    }

    pub(super) fn timers(&self) -> &Arc<Timers> {
        &self.timers
    }

    /// Returns the number of tasks that have not ended.
    pub(super) fn load(&self) -> usize {
        self.tasks.load(Ordering::Relaxed)
    }

    /// Records that the thread begins to run tasks.
    pub(super) fn note_running(&self) {
        self.running_since
            .store(self.age().max(1), Ordering::Relaxed);
    }

    /// Records that the thread begins to wait.
    pub(super) fn note_waiting(&self) {
        self.running_since.store(0, Ordering::Relaxed);
    }

    /// Returns true if a task holds up the thread.
    pub(super) fn is_stuck(&self) -> bool {
        let since = self.running_since.load(Ordering::Relaxed);
        since != 0 && Duration::from_micros(self.age().saturating_sub(since)) > STUCK
    }

    /// Returns the time since the thread was started, in microseconds.
    fn age(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Starts a task. If the shard's thread is ending, the future is dropped in this call.
    pub(super) fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.fetch_add(1, Ordering::Relaxed);
        self.queue(Task::new(self, work));
    }

    /// Counts a task that has ended.
    pub(super) fn note_end(&self) {
        self.tasks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Queues a task for the shard's thread.
    pub(super) fn queue(self: &Arc<Self>, task: Arc<Task>) {
        let Some(task) = worker::queue_here(self, task) else {
            return;
        };
        let mut inbox = self.lock();
        if inbox.closed {
            // a future that has not run may be dropped on any thread; one that has run was dropped
            // by its own
            drop(inbox);
            return drop(task);
        }
        inbox.tasks.push(task);
        drop(inbox);
        self.interrupt();
    }

    /// Interrupts the thread's wait.
    pub(super) fn interrupt(&self) {
        self.waker.wake_by_ref();
    }

    /// Takes the tasks that other threads have handed over.
    pub(super) fn collect(&self, into: &mut impl Extend<Arc<Task>>) {
        into.extend(self.lock().tasks.drain(..));
    }

    /// Refuses tasks from now on; returns those that were not collected yet.
    pub(super) fn close(&self) -> Vec<Arc<Task>> {
        let mut inbox = self.lock();
        inbox.closed = true;
        std::mem::take(&mut inbox.tasks)
    }

    /// Signals the thread to end, without waiting for it.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.interrupt();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Locks the inbox, for moves of a few words only.
    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
