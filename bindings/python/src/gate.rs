// SPDX-License-Identifier: MIT OR Apache-2.0

//! The interpreter's lock, and the end of the interpreter, after which no thread may take it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Set once the interpreter begins to end.
static EXITING: AtomicBool = AtomicBool::new(false);
/// Threads of the network that run Python code.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Threads that wait for the lock, and found that the interpreter does not end. Python ends a thread that waits for it later than
/// that by unwinding its stack, which code in Rust does not allow.
static RETURNING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Set while this thread calls the library with the lock held.
    static KEPT: Cell<bool> = const { Cell::new(false) };
    /// Set on the thread that ends the interpreter.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `call` with the lock released. A thread that comes back after the end of the interpreter stays here for ever, as Python's own
/// daemon threads do.
pub fn detached<R: Send>(py: Python<'_>, call: impl FnOnce() -> R + Send) -> R {
    let given = py.detach(|| {
        let kept = KEPT.replace(false);
        let given = call();
        KEPT.set(kept);
        RETURNING.fetch_add(1, Ordering::SeqCst);
        if EXITING.load(Ordering::SeqCst) && !ENDS.get() {
            RETURNING.fetch_sub(1, Ordering::SeqCst);
            loop {
                std::thread::park();
            }
        }
        given
    });
    RETURNING.fetch_sub(1, Ordering::SeqCst);
    given
}

/// Runs `call`, which must not wait, with the lock held.
pub fn kept<R>(call: impl FnOnce() -> R) -> R {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            KEPT.set(self.0);
        }
    }
    let _before = Before(KEPT.replace(true));
    call()
}

/// Runs `wait`, on whatever thread of the library: with the lock released if this thread holds it.
pub fn waiting(wait: impl FnOnce() + Send) {
    if KEPT.get() {
        Python::attach(|py| detached(py, wait));
    } else {
        wait();
    }
}

/// Runs Python code on a thread of the network; returns nothing if the interpreter ends.
pub fn attached<R>(call: impl FnOnce(Python<'_>) -> R) -> Option<R> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let _leave = Leave;
    if EXITING.load(Ordering::SeqCst) && !ENDS.get() {
        return None;
    }
    Python::try_attach(|py| {
        let kept = KEPT.replace(false);
        let given = call(py);
        KEPT.set(kept);
        given
    })
}

/// Returns whether the interpreter ends.
pub fn is_exiting() -> bool {
    EXITING.load(Ordering::Acquire)
}

/// Bars the lock for all other threads, runs `last` without it, and waits at most a second for threads that are on their way to it
/// and for threads of the network that run Python code.
pub fn end(py: Python<'_>, last: impl FnOnce() + Send) {
    ENDS.set(true);
    EXITING.store(true, Ordering::SeqCst);
    py.detach(|| {
        last();
        let limit = Instant::now() + Duration::from_secs(1);
        let amid = || INSIDE.load(Ordering::SeqCst) + RETURNING.load(Ordering::SeqCst) > 0;
        while amid() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Drops a value of the library without the interpreter's lock.
pub fn let_go<T: Send>(value: Option<T>) {
    if value.is_some() {
        let _ = Python::try_attach(|py| detached(py, move || drop(value)));
    }
}
