// SPDX-License-Identifier: MIT OR Apache-2.0

//! Room in queues for queries and replies. A full queue makes the thread that fills it wait for its reader. With queries that
//! could be for ever: a session answers itself on the thread that asks, before anybody can read the answers. So the
//! caller of a handler with a query or a reply says here how the value is to be treated, and a queue obeys.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::Mutex;

/// How a full queue treats what the current thread gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// As the queue likes.
    Usual,
    /// It waits until then at most: nobody wants the value later.
    Until(Instant),
    /// It takes the value beyond its capacity, in front of everything: its reader does not have it yet.
    First,
    /// It takes the value beyond its capacity: there will be no others.
    Last,
}

thread_local! {
    static ROOM: Cell<Room> = const { Cell::new(Room::Usual) };
}

impl Room {
    /// What holds on this thread.
    pub(super) fn here() -> Room {
        ROOM.get()
    }

    /// Runs `call` with this treatment.
    pub(crate) fn during(self, call: impl FnOnce()) {
        /// Comes back to what held before, after a panic too.
        struct Before(Room);
        impl Drop for Before {
            fn drop(&mut self) {
                ROOM.set(self.0);
            }
        }
        let _before = Before(ROOM.replace(self));
        call();
    }
}

/// What a queue took beyond its capacity.
#[derive(Debug)]
pub(super) struct Beyond<T> {
    first: Mutex<VecDeque<T>>,
    last: Mutex<VecDeque<T>>,
}

impl<T> Beyond<T> {
    pub fn new() -> Beyond<T> {
        Beyond {
            first: Mutex::default(),
            last: Mutex::default(),
        }
    }

    pub fn push_first(&self, value: T) {
        self.first.lock().push_back(value);
    }

    pub fn push_last(&self, value: T) {
        self.last.lock().push_back(value);
    }

    /// To be read before what is in the queue.
    pub fn pop_first(&self) -> Option<T> {
        self.first.lock().pop_front()
    }

    /// To be read when the queue is empty and nobody fills it any more.
    pub fn pop_last(&self) -> Option<T> {
        self.last.lock().pop_front()
    }

    pub fn len(&self) -> usize {
        self.first.lock().len() + self.last.lock().len()
    }
}
