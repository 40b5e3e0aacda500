// SPDX-License-Identifier: MIT OR Apache-2.0

//! Handlers: queues that Python reads, and callbacks, which a thread of Python's calls with batches.

use std::marker::PhantomData;
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use pyo3::exceptions::{PySystemExit, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use zonda::handlers::{Callback as Call, IntoHandler, Patient, Stored};

use crate::awaiting::{self, Here, Turn};
use crate::error::ZError;
use crate::gate;
use crate::queue::{Source, Writer, queue};

/// Capacity of the queue of a handler that names none.
const DEFAULT_CAPACITY: usize = 256;
/// Capacity of the queue in front of a callback.
const CALLBACK_CAPACITY: usize = 1024;

/// A value of the library that Python gets.
pub trait Value: Stored + Send + 'static {
    /// The class in Python.
    const NAME: &'static str;

    /// Makes the object.
    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

/// Makes `__class_getitem__`, so that annotations such as `Handler[Sample]` work.
pub fn generic(class: &Bound<'_, PyType>, args: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let alias = class.py().import("types")?.getattr("GenericAlias")?;
    Ok(alias.call1((class, args))?.unbind())
}

/// Queue of 256 values, the default: a full one makes the sender wait.
#[pyclass(module = "zonda.handlers", frozen)]
pub struct DefaultHandler;

#[pymethods]
impl DefaultHandler {
    #[new]
    fn new() -> Self {
        DefaultHandler
    }

    #[classmethod]
    fn __class_getitem__(cls: &Bound<'_, PyType>, args: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        generic(cls, args)
    }
}

/// Queue of `capacity` values: a full one makes the sender wait.
#[pyclass(module = "zonda.handlers", frozen)]
pub struct FifoChannel(usize);

#[pymethods]
impl FifoChannel {
    #[new]
    fn new(capacity: usize) -> Self {
        FifoChannel(capacity)
    }

    #[classmethod]
    fn __class_getitem__(cls: &Bound<'_, PyType>, args: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        generic(cls, args)
    }
}

/// Queue of the latest `capacity` values: a full one drops its oldest.
#[pyclass(module = "zonda.handlers", frozen)]
pub struct RingChannel(usize);

#[pymethods]
impl RingChannel {
    #[new]
    fn new(capacity: usize) -> Self {
        RingChannel(capacity)
    }

    #[classmethod]
    fn __class_getitem__(cls: &Bound<'_, PyType>, args: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        generic(cls, args)
    }
}

/// A callback with a function for its end.
///
/// With `indirect` (the default) a thread of its own calls it; without, the thread of the network does, which saves a change of
/// threads and makes the network wait for the callback.
#[pyclass(module = "zonda.handlers", frozen)]
pub struct Callback {
    callback: Py<PyAny>,
    drop: Option<Py<PyAny>>,
    indirect: bool,
}

#[pymethods]
impl Callback {
    #[new]
    #[pyo3(signature = (callback, drop=None, *, indirect=true))]
    fn new(callback: Py<PyAny>, drop: Option<Py<PyAny>>, indirect: bool) -> Self {
        Callback {
            callback,
            drop,
            indirect,
        }
    }

    #[classmethod]
    fn __class_getitem__(cls: &Bound<'_, PyType>, args: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        generic(cls, args)
    }

    fn __call__(&self, arg: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.callback.call1(arg.py(), (arg,))
    }

    #[getter]
    fn callback(&self, py: Python<'_>) -> Py<PyAny> {
        self.callback.clone_ref(py)
    }

    #[getter]
    fn drop(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.drop.as_ref().map(|drop| drop.clone_ref(py))
    }

    #[getter]
    fn indirect(&self) -> bool {
        self.indirect
    }
}

/// The reading side of a queue. `for`, `async for`, `recv` and `try_recv` take values; `await handler` gives the handler itself.
#[pyclass(module = "zonda.handlers", frozen)]
pub struct Handler(Box<dyn Source>, Turn);

impl Handler {
    /// Makes the reading side of a source.
    fn new(source: impl Source + 'static) -> Handler {
        Handler(Box::new(source), Turn::default())
    }

    fn closed_as_stop(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match self.0.recv(py, None) {
            Err(error) if error.is_instance_of::<ZError>(py) => Ok(None),
            other => other,
        }
    }
}

#[pymethods]
impl Handler {
    #[classmethod]
    fn __class_getitem__(cls: &Bound<'_, PyType>, args: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        generic(cls, args)
    }

    /// Takes the next value if there is one now, else returns None. Raises ZError at the end.
    fn try_recv(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.try_recv(py)
    }

    /// Takes the next value; waits for it, at most `timeout` seconds, after which it returns None. Raises ZError at the end.
    #[pyo3(signature = (timeout=None))]
    fn recv(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Py<PyAny>>> {
        let limit = timeout.map(seconds).transpose()?;
        self.0.recv(
            py,
            limit.and_then(|limit| Instant::now().checked_add(limit)),
        )
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.closed_as_stop(py)
    }

    fn __aiter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __anext__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let Handler(source, turn) = slf.get();
        awaiting::next(slf, &**source, turn)
    }

    fn __await__(slf: Py<Self>) -> Here {
        Here::new(slf.into_any())
    }

    /// Takes what waits, without waiting for more, as a list: empty if nothing waits. Raises ZError at the end.
    #[pyo3(signature = (limit=1024))]
    fn drain(&self, py: Python<'_>, limit: usize) -> PyResult<Vec<Py<PyAny>>> {
        let mut taken = Vec::new();
        while taken.len() < limit {
            match self.0.try_recv(py) {
                Ok(Some(value)) => taken.push(value),
                Err(error) if taken.is_empty() => return Err(error),
                Ok(None) | Err(_) => break,
            }
        }
        Ok(taken)
    }

    /// Has `ready` called once, on a thread of the package, when there is a value or the end; returns False if that is so now.
    fn on_ready(&self, ready: Py<PyAny>) -> bool {
        self.0.on_ready(Box::new(move || crate::wakes::send(ready)))
    }

    fn _batch(&self, py: Python<'_>) -> PyResult<Option<Vec<Py<PyAny>>>> {
        self.0.batch(py)
    }

    fn __repr__(&self) -> String {
        format!("Handler[{}]", self.0.name())
    }
}

/// Reads a duration in seconds.
pub fn seconds(value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        PyValueError::new_err(format!(
            "{value:?} s is no duration: use a number of seconds from 0"
        ))
    })
}

/// Flag of a callback whose last call has returned.
#[derive(Default)]
pub struct Finished {
    state: Mutex<(bool, Option<ThreadId>)>,
    changed: Condvar,
}

impl Finished {
    fn set(&self) {
        self.state.lock().0 = true;
        self.changed.notify_all();
    }

    /// Returns whether the last call has returned.
    pub fn is_finished(&self) -> bool {
        self.state.lock().0
    }

    /// Waits until the last call has returned; not in that call itself.
    pub fn wait(&self) {
        let mut state = self.state.lock();
        while !state.0 && state.1 != Some(thread::current().id()) {
            self.changed.wait(&mut state);
        }
    }
}

/// Sets the flag when the thread of a callback is done with it.
#[pyclass(module = "zonda", frozen)]
pub struct Finisher(Arc<Finished>);

#[pymethods]
impl Finisher {
    fn _here(&self) {
        self.0.state.lock().1 = Some(thread::current().id());
    }
}

impl Drop for Finisher {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// The library's side of a handler.
pub enum Sink<T> {
    /// A queue.
    Queue(Writer<T>),
    /// A callback on the network's thread.
    Inline(InlineCall<T>),
}

/// A callback on the network's thread.
pub struct InlineCall<T> {
    function: Py<PyAny>,
    drop: Option<Py<PyAny>>,
    finished: Arc<Finished>,
    values: PhantomData<fn(T)>,
}

impl<T: Value> InlineCall<T> {
    fn call(&self, value: T) {
        gate::attached(|py| {
            let called = value
                .into_python(py)
                .and_then(|value| self.function.call1(py, (value,)));
            if let Err(error) = called {
                report(py, error);
            }
        });
    }
}

impl<T> Drop for InlineCall<T> {
    fn drop(&mut self) {
        if let Some(drop) = self.drop.take() {
            gate::attached(|py| {
                if let Err(error) = drop.call0(py) {
                    report(py, error);
                }
            });
        }
        self.finished.set();
    }
}

/// Logs the exception of a callback; not that by which the end of the interpreter interrupts it.
pub fn report(py: Python<'_>, error: PyErr) {
    if gate::is_exiting() && error.is_instance_of::<PySystemExit>(py) {
        return;
    }
    let told = py
        .import("zonda._deliver")
        .and_then(|module| module.getattr("report"))
        .and_then(|report| report.call1((error.value(py),)));
    if told.is_err() {
        error.print(py);
    }
}

impl<T: Value> IntoHandler<T> for Sink<T> {
    type Handler = ();

    fn into_handler(self) -> (Call<T>, ()) {
        let call = match self {
            Sink::Queue(writer) => Call::from(move |value| writer.push(value)),
            Sink::Inline(inline) => Call::from(move |value| inline.call(value)),
        };
        (call, ())
    }

    fn into_patient(self) -> (Patient<T>, ()) {
        match self {
            Sink::Queue(writer) => (Patient::new(move |value| writer.push_patiently(value)), ()),
            inline => {
                let (call, ()) = inline.into_handler();
                (call.into(), ())
            }
        }
    }
}

/// A handler that is taken apart.
pub struct Plan<T> {
    /// The library's side.
    pub sink: Sink<T>,
    /// Value of the attribute `handler`.
    pub handler: Py<PyAny>,
    /// Set if the declaration lasts as long as its session, however short its object lives.
    pub background: bool,
    /// The end of the callback's calls.
    pub finished: Option<Arc<Finished>>,
}

/// Takes the argument `handler` apart: None, a channel, a callback, or a callback with a handler of the caller's.
pub fn plan<T: Value>(py: Python<'_>, handler: Option<&Bound<'_, PyAny>>) -> PyResult<Plan<T>> {
    let Some(handler) = handler.filter(|handler| !handler.is_none()) else {
        return queued(py, DEFAULT_CAPACITY, false);
    };
    if handler.cast::<DefaultHandler>().is_ok() {
        return queued(py, DEFAULT_CAPACITY, false);
    }
    if let Ok(fifo) = handler.cast::<FifoChannel>() {
        return queued(py, fifo.get().0, false);
    }
    if let Ok(ring) = handler.cast::<RingChannel>() {
        return queued(py, ring.get().0, true);
    }
    if let Ok(pair) = handler.cast::<PyTuple>()
        && pair.len() == 2
    {
        return called(&pair.get_item(0)?, pair.get_item(1)?.unbind());
    }
    called(handler, py.None())
}

fn queued<T: Value>(py: Python<'_>, capacity: usize, ring: bool) -> PyResult<Plan<T>> {
    let (writer, reader) = queue(capacity, ring);
    Ok(Plan {
        sink: Sink::Queue(writer),
        handler: Py::new(py, Handler::new(reader))?.into_any(),
        background: false,
        finished: None,
    })
}

fn called<T: Value>(function: &Bound<'_, PyAny>, handler: Py<PyAny>) -> PyResult<Plan<T>> {
    let py = function.py();
    let finished = Arc::new(Finished::default());
    let mut call = function.clone().unbind();
    let mut drop = None;
    let mut indirect = true;
    if let Ok(callback) = function.cast::<Callback>() {
        let callback = callback.get();
        call = callback.callback.clone_ref(py);
        drop = callback.drop.as_ref().map(|drop| drop.clone_ref(py));
        indirect = callback.indirect;
    }
    if !call.bind(py).is_callable() {
        return Err(PyTypeError::new_err(
            "handler: None, a channel of zonda.handlers, a function, or a tuple of a function and a handler",
        ));
    }
    let sink = if indirect {
        let (writer, reader) = queue(CALLBACK_CAPACITY, false);
        let reader = Py::new(py, Handler::new(reader))?;
        let finisher = Py::new(py, Finisher(finished.clone()))?;
        let start = py.import("zonda._deliver")?.getattr("start")?;
        start.call1((reader, call, drop, finisher))?;
        Sink::Queue(writer)
    } else {
        Sink::Inline(InlineCall {
            function: call,
            drop,
            finished: finished.clone(),
            values: PhantomData,
        })
    };
    Ok(Plan {
        sink,
        handler,
        background: true,
        finished: Some(finished),
    })
}
