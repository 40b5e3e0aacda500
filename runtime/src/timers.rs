// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlines that somebody looks after beside something else: a thread whose wait the earliest bounds, or a task that looks at
//! them now and then.
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

/// A deadline, and a number that tells equal ones apart.
pub type Key = (Instant, u64);

/// The sleeps that one thread or task looks after.
#[derive(Default)]
#[allow(missing_debug_implementations, reason = "wakers say nothing")]
pub struct Timers(Mutex<State>);

#[derive(Default)]
struct State {
    closed: bool,
    count: u64,
    waiting: BTreeMap<Key, Waker>,
}

impl Timers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the sleeps that are due by this clock, which is not asked when there are none.
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

    /// How long it is to the next deadline.
    pub fn left(&self) -> Option<Duration> {
        let next = self.lock().waiting.first_key_value()?.0.0;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Ends all sleeps, also those to come: nobody looks after deadlines any more.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waiting = mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(Waker::wake);
    }

    /// Adds a sleep; tells its key and whether it is the next one to end. `None` when nobody looks after it.
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

    /// Changes the waker that the end of a sleep calls. False when the sleep has ended.
    pub fn update(&self, key: Key, waker: &Waker) -> bool {
        let mut state = self.lock();
        let Some(waiting) = state.waiting.get_mut(&key) else {
            return false;
        };
        let replaced = (!waiting.will_wake(waker)).then(|| mem::replace(waiting, waker.clone()));
        drop(state);
        // Dropping a waker may run code of others.
        drop(replaced);
        true
    }

    /// Ends a sleep without calling its waker. Nothing happens if it has ended.
    pub fn remove(&self, key: Key) {
        let removed = self.lock().waiting.remove(&key);
        // Dropping a waker may run code of others.
        drop(removed);
    }
}
