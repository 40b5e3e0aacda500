// SPDX-License-Identifier: MIT OR Apache-2.0
//! The deadlines that a shard's thread looks after while it waits for completions.
//!
//! The wait for completions takes a timeout in nanoseconds and needs no descriptor, so that long and short waits are
//! the same here. A sleep may be polled on any thread.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::shard::Shard;
use super::worker;

/// A deadline, and a number that tells equal ones apart.
type Key = (Instant, u64);

/// All sleeps of one shard.
#[derive(Default)]
pub(super) struct Timers(Mutex<State>);

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

    /// Wakes the sleeps that are due.
    pub(super) fn fire(&self) {
        let mut state = self.lock();
        if state.waiting.is_empty() {
            return;
        }
        let now = Instant::now();
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
    pub(super) fn left(&self) -> Option<Duration> {
        let next = self.lock().waiting.first_key_value()?.0.0;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Ends all sleeps, also those to come: nobody looks after deadlines any more.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(Waker::wake);
    }

    /// Adds a sleep; tells its key and whether it is the next one to end. `None` when nobody looks after it.
    fn insert(&self, deadline: Instant, waker: &Waker) -> Option<(Key, bool)> {
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

    /// Changes whom the end of a sleep wakes. False when the sleep has ended.
    fn update(&self, key: Key, waker: &Waker) -> bool {
        let mut state = self.lock();
        let waiting = state.waiting.get_mut(&key);
        waiting.is_some_and(|waiting| {
            waiting.clone_from(waker);
            true
        })
    }

    fn remove(&self, key: Key) {
        let removed = self.lock().waiting.remove(&key);
        // Dropping a waker may run code of others.
        drop(removed);
    }
}

/// Completes at its deadline, or when the runtime is gone.
pub(super) struct Sleep {
    shard: Arc<Shard>,
    deadline: Instant,
    key: Option<Key>,
}

impl Sleep {
    /// A sleep that `shard` looks after.
    pub(super) fn new(shard: Arc<Shard>, deadline: Instant) -> Self {
        Sleep {
            shard,
            deadline,
            key: None,
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.deadline <= Instant::now() {
            return Poll::Ready(());
        }
        if let Some(key) = self.key {
            return match self.shard.timers().update(key, context.waker()) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            };
        }
        let Some((key, first)) = self.shard.timers().insert(self.deadline, context.waker()) else {
            return Poll::Ready(());
        };
        self.key = Some(key);
        if first && !worker::is_here(&self.shard) {
            self.shard.interrupt();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.shard.timers().remove(key);
        }
    }
}
