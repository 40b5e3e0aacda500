// SPDX-License-Identifier: MIT OR Apache-2.0

//! Callbacks that change what they have captured: called by one thread at a time.
//!
//! No lock is held while the function runs: it is the owner of a [`SerialQueue`], and called in the
//! queue's turn. Other threads push their values and wait until the function has been called with
//! them. A value that the function itself causes, as by publishing on a key it subscribes to, would
//! wait for itself; the function is called with it after it has returned.
//!
//! Nothing helps two functions that run on two threads and cause each other's calls: each waits for the other to return.

use std::collections::VecDeque;
use std::panic::resume_unwind;

use zonda_runtime::serial::SerialQueue;

use super::Callback;

impl<T: Send + 'static> Callback<T> {
    /// Wraps a function that changes what it has captured. One thread at a time calls it, and other
    /// threads wait; a value that comes from inside of the call is handed to it after the call has
    /// returned.
    pub fn in_turn(function: impl FnMut(T) + Send + 'static) -> Callback<T> {
        let queue = SerialQueue::new(VecDeque::new(), function);
        Callback::from(move |value| {
            let mut waiting = queue.lock();
            waiting.push_back(value);
            let Some(turn) = waiting.wait_turn() else {
                return;
            };
            let mut first = None;
            queue.drain(
                turn,
                |function, next| function(next),
                |_, panic| {
                    first.get_or_insert(panic);
                },
            );
            // The caller counts the panic and contains it.
            if let Some(panic) = first {
                resume_unwind(panic);
            }
        })
    }
}
