// SPDX-License-Identifier: MIT OR Apache-2.0

//! Room in queues for queries and replies. A full queue makes the thread that fills it wait for its
//! reader. With queries that could be for ever: a session answers its own query on the querying
//! thread, before any thread can read the answers. So the caller of a handler with a query or a
//! reply sets here how a queue has to treat the value.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::Mutex;

/// Treatment of the current thread's value by a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FullQueuePolicy {
    /// Treatment by the policy of the queue.
    Usual,
    /// The queue waits at most until then, when the value expires.
    Until(Instant),
    /// The queue takes the value beyond its capacity, in front of everything: its reader does not
    /// have it yet.
    First,
    /// The queue takes the value beyond its capacity: it is the last one.
    Last,
}

thread_local! {
    static ROOM: Cell<FullQueuePolicy> = const { Cell::new(FullQueuePolicy::Usual) };
}

impl FullQueuePolicy {
    /// Returns the treatment that is set on this thread.
    pub(super) fn here() -> FullQueuePolicy {
        ROOM.get()
    }

    /// Runs `call` with this treatment.
    pub(crate) fn during(self, call: impl FnOnce()) {
        /// Guard that restores the previous treatment, after a panic too.
        struct Before(FullQueuePolicy);
        impl Drop for Before {
            fn drop(&mut self) {
                ROOM.set(self.0);
            }
        }
        let _before = Before(ROOM.replace(self));
        call();
    }
}

/// Values that a queue took beyond its capacity.
#[derive(Debug)]
pub(super) struct ExcessValues<T> {
    first: Mutex<VecDeque<T>>,
    last: Mutex<VecDeque<T>>,
}

impl<T> ExcessValues<T> {
    pub fn new() -> ExcessValues<T> {
        ExcessValues {
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

    /// Removes a value that is read before those of the queue.
    pub fn pop_first(&self) -> Option<T> {
        self.first.lock().pop_front()
    }

    /// Removes a value that is read when the queue is empty and has no sender any more.
    pub fn pop_last(&self) -> Option<T> {
        self.last.lock().pop_front()
    }

    pub fn len(&self) -> usize {
        self.first.lock().len() + self.last.lock().len()
    }
}
