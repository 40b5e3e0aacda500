// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlines that a thread or task fires in addition to its other work: a thread whose wait is
//! bounded by the earliest one, or a task that checks them now and then.
//!
//! ```
//! use std::task::Waker;
//! use std::time::Instant;
//! use zonda_runtime::timers::Timers;
//!
//! let timers = Timers::default();
//! let (key, is_next) = timers.insert(Instant::now(), Waker::noop()).expect("it is not closed");
//! assert!(is_next);
//! timers.fire(Instant::now);
//! assert!(!timers.update(key, Waker::noop()), "its waker has been called");
//! ```

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

/// A deadline, and a number that distinguishes equal ones.
pub type Key = (Instant, u64);

/// The sleeps that one thread or task fires.
#[derive(Default)]
#[allow(missing_debug_implementations, reason = "wakers say nothing")]
pub struct Timers(Mutex<PendingTimers>);

#[derive(Default)]
struct PendingTimers {
    closed: bool,
    count: u64,
    waiting: BTreeMap<Key, Waker>,
}

impl Timers {
    fn lock(&self) -> MutexGuard<'_, PendingTimers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the sleeps that are due by this clock, which is not read if there are none.
    pub fn fire(&self, clock: impl FnOnce() -> Instant) {
        let mut state = self.lock();
        if state.waiting.is_empty() {
            return;
        }
        let now = clock();
        let mut due = Vec::new();
        while let Some(first) = state.waiting.first_entry()
            && first.key().0 <= now
        {
            due.push(first.remove());
        }
        drop(state);
        due.into_iter().for_each(Waker::wake);
    }

    /// Returns the time until the next deadline.
    pub fn left(&self) -> Option<Duration> {
        let next = self.lock().waiting.first_key_value()?.0.0;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Ends all sleeps, also future ones: no thread fires them any more.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waiting = mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(Waker::wake);
    }

    /// Adds a sleep; returns its key, and true if it is the next one to end. `None` after
    /// [`Timers::close`].
    pub fn insert(&self, deadline: Instant, waker: &Waker) -> Option<(Key, bool)> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        state.count += 1;
        let key = (deadline, state.count);
        state.waiting.insert(key, waker.clone());
        let first = state.waiting.first_key_value().map(|(key, _)| *key);
        Some((key, first == Some(key)))
    }

    /// Changes the waker of a sleep. Returns false if the sleep has ended.
    pub fn update(&self, key: Key, waker: &Waker) -> bool {
        let mut state = self.lock();
        let Some(waiting) = state.waiting.get_mut(&key) else {
            return false;
        };
        let replaced = (!waiting.will_wake(waker)).then(|| mem::replace(waiting, waker.clone()));
        drop(state);
        // dropping a waker may run foreign code
        drop(replaced);
        true
    }

    /// Removes a sleep without calling its waker. Does nothing if it has ended.
    pub fn remove(&self, key: Key) {
        let removed = self.lock().waiting.remove(&key);
        // dropping a waker may run foreign code
        drop(removed);
    }
}
