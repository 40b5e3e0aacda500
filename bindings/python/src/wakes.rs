// SPDX-License-Identifier: MIT OR Apache-2.0

//! Functions of Python that the library's threads want called: one thread of Python's calls them, so that the library's never wait
//! for the interpreter's lock.

use parking_lot::{Condvar, Mutex};
use pyo3::prelude::*;

use crate::gate;

static WAKES: Mutex<Vec<Py<PyAny>>> = Mutex::new(Vec::new());
static ARRIVED: Condvar = Condvar::new();

/// Has a function called without arguments.
pub fn send(function: Py<PyAny>) {
    WAKES.lock().push(function);
    ARRIVED.notify_one();
}

/// Takes the functions to call; waits for the first.
#[pyfunction]
pub fn _wakes(py: Python<'_>) -> Vec<Py<PyAny>> {
    gate::detached(py, || {
        let mut wakes = WAKES.lock();
        while wakes.is_empty() {
            ARRIVED.wait(&mut wakes);
        }
        std::mem::take(&mut *wakes)
    })
}
