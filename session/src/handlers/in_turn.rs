// SPDX-License-Identifier: MIT OR Apache-2.0

//! Callbacks that change what they have captured: called by one thread at a time.
//!
//! No lock is held while the function runs: the caller takes it out, and the others wait until it is back. A value
//! that the function itself causes, as by publishing what it subscribes to, would wait for itself; it is called
//! with once the function has returned.
//!
//! Nothing helps two functions that run on two threads and cause each other's calls: each waits for the other to return.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::{self, ThreadId};

use parking_lot::{Condvar, Mutex};

use super::Callback;

/// A function that may be called by one thread at a time.
struct InTurn<T, F> {
    seat: Mutex<Seat<T, F>>,
    /// The function is back.
    back: Condvar,
}

struct Seat<T, F> {
    /// `None` while it is called.
    function: Option<F>,
    /// Who calls it.
    caller: Option<ThreadId>,
    /// What it is to be called with: what it causes itself meanwhile, and one value of each thread that waits.
    waiting: VecDeque<T>,
}

impl<T, F: FnMut(T)> InTurn<T, F> {
    fn call(&self, value: T) {
        let own = thread::current().id();
        let mut seat = self.seat.lock();
        seat.waiting.push_back(value);
        if seat.caller == Some(own) {
            return;
        }
        while seat.caller.is_some() {
            self.back.wait(&mut seat);
        }
        let Some(mut function) = seat.function.take() else {
            return;
        };
        seat.caller = Some(own);
        let mut panic = None;
        while let Some(next) = seat.waiting.pop_front() {
            drop(seat);
            if let Err(thrown) = catch_unwind(AssertUnwindSafe(|| function(next))) {
                panic.get_or_insert(thrown);
            }
            seat = self.seat.lock();
        }
        seat.function = Some(function);
        seat.caller = None;
        drop(seat);
        self.back.notify_one();
        if let Some(thrown) = panic {
            resume_unwind(thrown);
        }
    }
}

impl<T: Send + 'static> Callback<T> {
    /// Wraps a function that changes what it has captured. It is called by one thread at a time, the others wait; what it
    /// causes itself to be called with, it is called with after it has returned.
    pub fn in_turn(function: impl FnMut(T) + Send + 'static) -> Callback<T> {
        let turn = InTurn {
            seat: Mutex::new(Seat {
                function: Some(function),
                caller: None,
                waiting: VecDeque::new(),
            }),
            back: Condvar::new(),
        };
        Callback::new(move |value| turn.call(value))
    }
}
