// SPDX-License-Identifier: MIT OR Apache-2.0

//! The interpreter's lock, and the end of the interpreter, after which no thread may take it.

use std::cell::Cell;
use std::ffi::c_long;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pyo3::exceptions::PySystemExit;
use pyo3::ffi;
use pyo3::prelude::*;

/// Limit of the time that the end of the interpreter waits for threads, and after it for calls that it has interrupted.
const LIMIT: Duration = Duration::from_secs(1);

/// Set once the interpreter begins to end.
static EXITING: AtomicBool = AtomicBool::new(false);
/// Threads of the network that run Python code, or are about to.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Python's names of those that run it.
static CALLS: Mutex<Vec<c_long>> = Mutex::new(Vec::new());
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
    struct Leave(Option<c_long>);
    impl Drop for Leave {
        fn drop(&mut self) {
            if let Some(own) = self.0 {
                let mut calls = CALLS.lock();
                let last = calls.iter().rposition(|thread| *thread == own);
                last.map(|last| calls.swap_remove(last));
            }
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let mut leave = Leave(None);
    if EXITING.load(Ordering::SeqCst) && !ENDS.get() {
        return None;
    }
    Python::try_attach(|py| {
        leave.0 = own_name(py).ok();
        CALLS.lock().extend(leave.0);
        let kept = KEPT.replace(false);
        let given = call(py);
        KEPT.set(kept);
        given
    })
}

/// Returns Python's name of this thread.
fn own_name(py: Python<'_>) -> PyResult<c_long> {
    thread_local! {
        static NAME: Cell<Option<c_long>> = const { Cell::new(None) };
    }
    if let Some(name) = NAME.get() {
        return Ok(name);
    }
    let name = py.import("threading")?.call_method0("get_ident")?;
    let name = name.extract::<u64>()?.cast_signed();
    NAME.set(Some(name));
    Ok(name)
}

/// Has the Python code of the network's threads raise SystemExit.
fn interrupt(py: Python<'_>) {
    let exit = py.get_type::<PySystemExit>();
    for thread in &*CALLS.lock() {
        // SAFETY: the lock is held, as `py` proves; the class is one of exceptions. A name of a thread that has ended has no effect.
        unsafe { ffi::PyThreadState_SetAsyncExc(*thread, exit.as_ptr()) };
    }
}

/// Returns true if the interpreter ends.
pub fn is_exiting() -> bool {
    EXITING.load(Ordering::Acquire)
}

/// Bars the lock for all other threads, runs `last` without it, and waits at most a second for threads that are on their way to it
/// and for threads of the network that run Python code. What such a thread still runs then is interrupted: the interpreter's end
/// would unwind its stack.
pub fn end(py: Python<'_>, last: impl FnOnce() + Send) {
    ENDS.set(true);
    EXITING.store(true, Ordering::SeqCst);
    let are_out = py.detach(|| {
        last();
        wait_for_threads()
    });
    if !are_out {
        interrupt(py);
        py.detach(wait_for_threads);
    }
}

/// Waits until no thread is inside or on its way, at most for the limit; returns true if none is.
fn wait_for_threads() -> bool {
    let limit = Instant::now() + LIMIT;
    let amid = || INSIDE.load(Ordering::SeqCst) + RETURNING.load(Ordering::SeqCst) > 0;
    while amid() {
        if Instant::now() >= limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Drops a value of the library without the interpreter's lock.
pub fn let_go<T: Send>(value: Option<T>) {
    if value.is_some() {
        let _ = Python::try_attach(|py| detached(py, move || drop(value)));
    }
}
