// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue that many threads fill and one thread or task at a time works off.
//!
//! A thread that hands something in takes the [`Turn`] with it, if nobody has it, and becomes the one who takes out what
//! waits, with no lock held, until nothing is left; all others only hand in. Looking whether anything is left and giving
//! the turn back are one step under the lock, so nothing that was handed in is left behind. A call that hands in more to
//! its own queue does not wait for itself: [`Locked::take_turn`] and [`Locked::wait_turn`] find that the turn is taken, and
//! the value follows when the call has returned.
//!
//! How much may wait, and what gives way, is the queue's own affair: `Q` is any collection that knows what is
//! [next](Waiting). What only the holder of the turn may use, such as a function that changes what it has captured, is the
//! seat `S` and moves with the turn.

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

/// A collection of values that wait, in the order in which they are to be taken out.
pub trait Waiting {
    /// What is taken out.
    type Item;

    /// Takes out what is next. Called with the queue's lock held.
    fn pop(&mut self) -> Option<Self::Item>;
}

impl<T> Waiting for VecDeque<T> {
    type Item = T;

    fn pop(&mut self) -> Option<T> {
        let item = self.pop_front();
        if self.is_empty() {
            // A burst that is over keeps no memory.
            *self = VecDeque::new();
        }
        item
    }
}

/// The queue: see the [module](self).
pub struct SerialQueue<Q, S = ()> {
    state: Mutex<State<Q, S>>,
    /// Notified when the turn is given back.
    free: Condvar,
}

struct State<Q, S> {
    waiting: Q,
    /// `None` while somebody has the turn.
    seat: Option<S>,
    /// The thread that took the turn, or took something out last.
    holder: Option<ThreadId>,
    /// Threads in [`Locked::wait_turn`].
    sleepers: usize,
}

/// The right to take out what waits. There is one for each queue; [`SerialQueue::next`] gives it back when nothing is left.
/// If it is dropped instead, nobody works that queue off any more.
#[must_use = "nobody else takes out what waits"]
pub struct Turn<S = ()>(S);

/// A queue while its lock is held; dereferences to what waits.
pub struct Locked<'a, Q, S = ()> {
    queue: &'a SerialQueue<Q, S>,
    state: MutexGuard<'a, State<Q, S>>,
}

impl<Q, S> SerialQueue<Q, S> {
    /// A queue in which `waiting` waits already; nobody has the turn.
    pub fn new(waiting: Q, seat: S) -> Self {
        SerialQueue {
            state: Mutex::new(State {
                waiting,
                seat: Some(seat),
                holder: None,
                sleepers: 0,
            }),
            free: Condvar::new(),
        }
    }

    /// Locks it, to look at what waits, to hand in, and to take the turn. Keep it for a few instructions.
    ///
    /// # Blocking
    /// While another thread holds the lock, which is for a few instructions.
    pub fn lock(&self) -> Locked<'_, Q, S> {
        // Nothing that runs under the lock can panic half way.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Locked { queue: self, state }
    }

    /// Gives the turn back although something may be left: the next one who hands in finds it.
    pub fn give_back(&self, turn: Turn<S>) {
        self.lock().sit(turn);
    }
}

impl<Q: Waiting, S> SerialQueue<Q, S> {
    /// Takes out what is next, or gives the turn back if nothing is left.
    pub fn next(&self, turn: Turn<S>) -> Option<(Q::Item, Turn<S>)> {
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

    /// Calls `call` with everything that waits and comes meanwhile, one after the other, with no lock held, and gives the
    /// turn back. A call that panics costs what it was called with; `panicked` is called with what it threw, and must not
    /// panic itself.
    pub fn drain(
        &self,
        mut turn: Turn<S>,
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
    /// The turn, if nobody has it.
    pub fn take_turn(&mut self) -> Option<Turn<S>> {
        let seat = self.state.seat.take()?;
        self.state.holder = Some(current().id());
        Some(Turn(seat))
    }

    /// The turn, as soon as nobody has it; `None` if this thread has it, further out.
    ///
    /// # Blocking
    /// Until all that others have handed in before is taken out.
    pub fn wait_turn(mut self) -> Option<Turn<S>> {
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

    /// Whether this thread has the turn, further out.
    pub fn is_mine(&self) -> bool {
        self.state.holder == Some(current().id())
    }

    fn sit(&mut self, turn: Turn<S>) {
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

impl<S> Turn<S> {
    /// What only the holder of the turn may use.
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

impl<S> fmt::Debug for Turn<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}

#[cfg(test)]
#[path = "serial/tests.rs"]
mod tests;
