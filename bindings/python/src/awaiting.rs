// SPDX-License-Identifier: MIT OR Apache-2.0

//! Values that tasks of asyncio wait for: one that is there is given without a coroutine of its own.

use std::cell::Cell;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::ZError;
use crate::handlers::Handler;
use crate::queue::Source;

/// Values that a loop takes before other tasks have a turn.
const TURN: u32 = 1024;
/// Values in a row after which the sender is taken for a busy one.
const BUSY: u32 = 32;
/// Time that the loop stands still for the next value of a busy sender. To be woken takes longer.
const PATIENCE: Duration = Duration::from_micros(100);

thread_local! {
    /// Values that this thread's loop has taken in this turn.
    static TAKEN: Cell<u32> = const { Cell::new(0) };
}

/// An awaitable whose value is there.
#[pyclass(module = "zonda", freelist = 64)]
pub struct Here(Option<Py<PyAny>>);

impl Here {
    /// Holds a value.
    pub fn new(value: Py<PyAny>) -> Self {
        Here(Some(value))
    }
}

#[pymethods]
impl Here {
    fn __await__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Gives the value, in the way in which a coroutine returns.
    fn __next__(&mut self) -> PyResult<()> {
        let value = self.0.take().ok_or_else(|| {
            PyRuntimeError::new_err("this value has been awaited already: take the next one")
        })?;
        Err(PyStopIteration::new_err(value))
    }
}

/// Returns the awaitable of the next value: of a waiting one at once, else, and once a turn, a coroutine.
pub fn next(handler: &Bound<'_, Handler>, source: &dyn Source) -> PyResult<Py<PyAny>> {
    let py = handler.py();
    let taken = TAKEN.get();
    if taken < TURN {
        let given = match source.try_recv(py) {
            Ok(None) if taken >= BUSY => source.recv(py, Some(Instant::now() + PATIENCE)),
            given => given,
        };
        match given {
            Ok(Some(value)) => {
                TAKEN.set(taken + 1);
                return Ok(Py::new(py, Here::new(value))?.into_any());
            }
            Ok(None) => {}
            Err(error) if error.is_instance_of::<ZError>(py) => {
                return Err(PyStopAsyncIteration::new_err(()));
            }
            Err(error) => return Err(error),
        }
    }
    TAKEN.set(0);
    static WAIT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let wait = WAIT.get_or_try_init(py, || {
        let wait = py.import("zonda._async")?.getattr("wait")?;
        Ok::<_, PyErr>(wait.unbind())
    })?;
    wait.call1(py, (handler, taken >= TURN))
}
