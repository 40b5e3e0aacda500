// SPDX-License-Identifier: MIT OR Apache-2.0
//! A multi-producer queue that one thread or task at a time drains.
//!
//! A thread that inserts a value takes the [`DrainTurn`] with it, if it is free, and drains the queue,
//! with no lock held while it processes a value, until the queue is empty; other threads only
//! insert. The check for emptiness and the release of the turn are one step under the lock, so no
//! value is left behind. A call that inserts into its own queue does not wait for itself:
//! [`Locked::take_turn`] and [`Locked::wait_turn`] find the turn taken, and the value is processed
//! after the call has returned.
//!
//! The capacity, and which value is evicted, are up to `Q`: any collection that can return its
//! [next](Waiting) value. The seat `S` is state that only the holder of the turn may use, such as a
//! closure that changes its captures; it moves with the turn.

#[cfg(not(loom))]
use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current},
};

use std::collections::VecDeque;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

#[cfg(loom)]
use loom::{
    sync::{Condvar, Mutex, MutexGuard},
    thread::{ThreadId, current},
};

use crate::guard::{Panic, caught};

/// A collection of waiting values, in the order in which they are removed.
pub trait Waiting {
    /// The type of the waiting values.
    type Item;

    /// Removes the next value. Called with the queue's lock held.
    fn pop(&mut self) -> Option<Self::Item>;
}

impl<T> Waiting for VecDeque<T> {
    type Item = T;

    fn pop(&mut self) -> Option<T> {
        let item = self.pop_front();
        if self.is_empty() {
            // an empty queue releases its memory after a burst
            *self = VecDeque::new();
        }
        item
    }
}

/// The queue: see the [module](self).
pub struct SerialQueue<Q, S = ()> {
    state: Mutex<TurnQueue<Q, S>>,
    /// Notified when the turn is released.
    free: Condvar,
}

struct TurnQueue<Q, S> {
    waiting: Q,
    /// The state of the turn's holder; `None` while a thread has the turn.
    seat: Option<S>,
    /// The thread that took the turn, or removed the last value.
    holder: Option<ThreadId>,
    /// Threads in [`Locked::wait_turn`].
    sleepers: usize,
}

/// The right to drain the queue. There is one for each queue; [`SerialQueue::next`] releases it
/// when the queue is empty. If it is dropped instead, no thread can drain that queue any more.
#[must_use = "without it no thread drains the queue"]
pub struct DrainTurn<S = ()>(S);

/// A queue while its lock is held; dereferences to the waiting values.
pub struct Locked<'a, Q, S = ()> {
    queue: &'a SerialQueue<Q, S>,
    state: MutexGuard<'a, TurnQueue<Q, S>>,
}

impl<Q, S> SerialQueue<Q, S> {
    /// Creates a queue with `waiting` as its values and its turn free.
    pub fn new(waiting: Q, seat: S) -> Self {
        SerialQueue {
            state: Mutex::new(TurnQueue {
                waiting,
                seat: Some(seat),
                holder: None,
                sleepers: 0,
            }),
            free: Condvar::new(),
        }
    }

    /// Locks the queue, to inspect the waiting values, to insert, and to take the turn. Hold the
    /// lock only for a few instructions.
    ///
    /// # Blocking
    /// Blocks while another thread holds the lock, which is for a few instructions.
    pub fn lock(&self) -> Locked<'_, Q, S> {
        // the code under the lock cannot panic half way
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Locked { queue: self, state }
    }

    /// Releases the turn although values may be left: the next thread that inserts takes it.
    pub fn give_back(&self, turn: DrainTurn<S>) {
        self.lock().sit(turn);
    }
}

impl<Q: Waiting, S> SerialQueue<Q, S> {
    /// Removes the next value, or releases the turn if the queue is empty.
    pub fn next(&self, turn: DrainTurn<S>) -> Option<(Q::Item, DrainTurn<S>)> {
        let mut locked = self.lock();
        match locked.state.waiting.pop() {
            Some(item) => {
                locked.state.holder = Some(current().id());
                Some((item, turn))
            }
            None => {
                locked.sit(turn);
                None
            }
        }
    }

    /// Calls `call` with each waiting value and each one inserted during the drain, one after the
    /// other, with no lock held, and releases the turn. A panic in `call` loses only that value;
    /// `panicked` is called with its payload and must not panic itself.
    pub fn drain(
        &self,
        mut turn: DrainTurn<S>,
        mut call: impl FnMut(&mut S, Q::Item),
        mut panicked: impl FnMut(&mut S, Panic),
    ) {
        while let Some((item, next)) = self.next(turn) {
            turn = next;
            if let Err(panic) = caught(|| call(&mut turn.0, item)) {
                panicked(&mut turn.0, panic);
            }
        }
    }
}

impl<'a, Q, S> Locked<'a, Q, S> {
    /// Takes the turn, if it is free.
    pub fn take_turn(&mut self) -> Option<DrainTurn<S>> {
        let seat = self.state.seat.take()?;
        self.state.holder = Some(current().id());
        Some(DrainTurn(seat))
    }

    /// Takes the turn as soon as it is free; `None` if this thread has it further up its stack.
    ///
    /// # Blocking
    /// Blocks until the values that other threads inserted before are drained.
    pub fn wait_turn(mut self) -> Option<DrainTurn<S>> {
        if self.is_mine() {
            return None;
        }
        loop {
            if let Some(turn) = self.take_turn() {
                return Some(turn);
            }
            self.state.sleepers += 1;
            let woken = self.queue.free.wait(self.state);
            self.state = woken.unwrap_or_else(PoisonError::into_inner);
            self.state.sleepers -= 1;
        }
    }

    /// Returns true if this thread has the turn further up its stack.
    pub fn is_mine(&self) -> bool {
        self.state.holder == Some(current().id())
    }

    fn sit(&mut self, turn: DrainTurn<S>) {
        self.state.seat = Some(turn.0);
        self.state.holder = None;
        if self.state.sleepers > 0 {
            self.queue.free.notify_one();
        }
    }
}

impl<Q, S> Deref for Locked<'_, Q, S> {
    type Target = Q;

    fn deref(&self) -> &Q {
        &self.state.waiting
    }
}

impl<Q, S> DerefMut for Locked<'_, Q, S> {
    fn deref_mut(&mut self) -> &mut Q {
        &mut self.state.waiting
    }
}

impl<S> DrainTurn<S> {
    /// Returns the state that only the holder of the turn may use.
    pub fn seat(&mut self) -> &mut S {
        &mut self.0
    }
}

impl<Q: Default, S: Default> Default for SerialQueue<Q, S> {
    fn default() -> Self {
        SerialQueue::new(Q::default(), S::default())
    }
}

impl<Q, S> fmt::Debug for SerialQueue<Q, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SerialQueue")
    }
}

impl<Q, S> fmt::Debug for Locked<'_, Q, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Locked")
    }
}

impl<S> fmt::Debug for DrainTurn<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}

#[cfg(test)]
#[path = "serial/tests.rs"]
mod tests;
