// SPDX-License-Identifier: MIT OR Apache-2.0

//! Values that tasks of asyncio wait for: one that is there is given without a coroutine of its own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pyo3::exceptions::{PyRuntimeError, PyStopAsyncIteration, PyStopIteration};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::ZError;
use crate::handlers::Handler;
use crate::queue::Source;

/// Values that a loop takes of a handler before other tasks have a turn.
const TURN: u32 = 1024;
/// Values in a row after which the sender is taken for a busy one.
const BUSY: u32 = 32;
/// Time that the loop stands still for the next value of a busy sender. To be woken takes longer.
const PATIENCE: Duration = Duration::from_micros(100);

/// An awaitable whose value is there.
#[pyclass(module = "zonda")]
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

    /// Gives the value, in the way in which a coroutine returns: as that of the error StopIteration. No object of the error is
    /// made, where Python makes none for its own coroutines.
    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let value = self.0.take().ok_or_else(|| {
            PyRuntimeError::new_err("this value has been awaited already: take the next one")
        })?;
        let class = py.get_type::<PyStopIteration>();
        // SAFETY: the lock is held, as `py` proves, and both are objects, which the call takes references to.
        unsafe { ffi::PyErr_SetObject(class.as_ptr(), value.as_ptr()) };
        Ok(None)
    }
}

/// State of a handler between the values that tasks take from it.
#[derive(Default)]
pub struct Turn {
    /// Values that were taken in this turn of the loop.
    taken: AtomicU32,
    /// The awaitable that was given last, to be given again once its user has released it.
    spare: Mutex<Option<Py<Here>>>,
}

impl Turn {
    /// Returns an awaitable of this value.
    fn with(&self, py: Python<'_>, value: Py<PyAny>) -> PyResult<Py<PyAny>> {
        let mut spare = self.spare.lock();
        if let Some(here) = spare.as_ref().filter(|here| here.get_refcnt(py) == 1) {
            let (unused, here) = (here.borrow_mut(py).0.replace(value), here.clone_ref(py));
            drop(spare);
            // the drop of a query releases the interpreter's lock, which this one must not be held across
            drop(unused);
            return Ok(here.into_any());
        }
        let here = Py::new(py, Here::new(value))?;
        *spare = Some(here.clone_ref(py));
        Ok(here.into_any())
    }
}

/// Returns the awaitable of the next value: of a waiting one at once, else, and once a turn, a coroutine.
pub fn next(handler: &Bound<'_, Handler>, source: &dyn Source, turn: &Turn) -> PyResult<Py<PyAny>> {
    let py = handler.py();
    let taken = turn.taken.load(Ordering::Relaxed);
    if taken < TURN {
        let given = match source.try_recv(py) {
            Ok(None) if taken >= BUSY => source.recv(py, Some(Instant::now() + PATIENCE)),
            given => given,
        };
        match given {
            Ok(Some(value)) => {
                turn.taken.store(taken + 1, Ordering::Relaxed);
                return turn.with(py, value);
            }
            Ok(None) => {}
            Err(error) if error.is_instance_of::<ZError>(py) => {
                return Err(PyStopAsyncIteration::new_err(()));
            }
            Err(error) => return Err(error),
        }
    }
    turn.taken.store(0, Ordering::Relaxed);
    static WAIT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let wait = WAIT.get_or_try_init(py, || {
        let wait = py.import("zonda._async")?.getattr("wait")?;
        Ok::<_, PyErr>(wait.unbind())
    })?;
    wait.call1(py, (handler, taken >= TURN))
}
