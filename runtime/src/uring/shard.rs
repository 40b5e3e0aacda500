// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all threads may know of one io_uring thread: the way to hand it work, its timers, how busy it is.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::task::Task;
use super::worker;
use crate::timers::Timers;

/// One thread of a runtime, as seen from anywhere.
pub(super) struct Shard {
    /// The same for all shards of one runtime.
    pool: usize,
    /// Interrupts the thread's wait for completions.
    waker: Waker,
    inbox: Mutex<Inbox>,
    timers: Arc<Timers>,
    /// Tasks that have not ended.
    tasks: AtomicUsize,
    stopping: AtomicBool,
    born: Instant,
    /// When the thread began to run tasks, in microseconds since `born`; 0 while it waits.
    running_since: AtomicU64,
}

/// A thread that has run tasks for this long without a look at its ring is held up by one of them.
const STUCK: Duration = Duration::from_millis(20);

/// Work that other threads have handed over.
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

    /// The number of the runtime that this shard belongs to.
    pub(super) fn pool(&self) -> usize {
        self.pool
    }

    pub(super) fn timers(&self) -> &Arc<Timers> {
        &self.timers
    }

    /// How many tasks have not ended.
    pub(super) fn load(&self) -> usize {
        self.tasks.load(Ordering::Relaxed)
    }

    /// Notes that the thread begins to run tasks.
    pub(super) fn note_running(&self) {
        self.running_since
            .store(self.age().max(1), Ordering::Relaxed);
    }

    /// Notes that the thread begins to wait.
    pub(super) fn note_waiting(&self) {
        self.running_since.store(0, Ordering::Relaxed);
    }

    /// Whether a task holds the thread up.
    pub(super) fn is_stuck(&self) -> bool {
        let since = self.running_since.load(Ordering::Relaxed);
        since != 0 && Duration::from_micros(self.age().saturating_sub(since)) > STUCK
    }

    /// Microseconds since the thread was started.
    fn age(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Starts a task. If the shard's thread is ending, the future is dropped here and now.
    pub(super) fn spawn(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.fetch_add(1, Ordering::Relaxed);
        self.queue(Task::new(self, work));
    }

    /// Counts a task that has ended.
    pub(super) fn note_end(&self) {
        self.tasks.fetch_sub(1, Ordering::Relaxed);
    }

    /// Has the shard's thread run a task soon.
    pub(super) fn queue(self: &Arc<Self>, task: Arc<Task>) {
        let Some(task) = worker::queue_here(self, task) else {
            return;
        };
        let mut inbox = self.lock();
        if inbox.closed {
            // Its future may be sent anywhere while it has not run; after that, the thread has dropped it.
            drop(inbox);
            return drop(task);
        }
        inbox.tasks.push(task);
        drop(inbox);
        self.interrupt();
    }

    /// Has the thread look around if it waits.
    pub(super) fn interrupt(&self) {
        self.waker.wake_by_ref();
    }

    /// Takes what other threads have handed over.
    pub(super) fn collect(&self, into: &mut impl Extend<Arc<Task>>) {
        into.extend(self.lock().tasks.drain(..));
    }

    /// Refuses work from now on; returns what was not collected yet.
    pub(super) fn close(&self) -> Vec<Arc<Task>> {
        let mut inbox = self.lock();
        inbox.closed = true;
        std::mem::take(&mut inbox.tasks)
    }

    /// Asks the thread to end. Waits for nothing.
    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.interrupt();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Held for moves of a few words only.
    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
