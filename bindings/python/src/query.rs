// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries as their queryable sees them, and tokens that cancel them.

#![allow(clippy::too_many_arguments)]

use std::ffi::CString;
use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::exceptions::PyDeprecationWarning;
use pyo3::prelude::*;
use zonda::Wait;
use zonda::cancellation::CancellationToken as InnerToken;
use zonda::query::Query as Inner;

use crate::bytes::{ZBytes, optional_payload, payload};
use crate::encoding::{Encoding, encoding};
use crate::entity::given;
use crate::enums::{CongestionControl, Priority, ReplyKeyExpr};
use crate::error::{OrRaise, zerror};
use crate::gate;
use crate::handlers::{Finished, Value};
use crate::keys::{KeyExpr, Parameters, Selector, key};
use crate::stack::TimestampStack;
use crate::time::{SourceInfo, Timestamp};

/// A query. It is over, and the asker knows, once it is dropped: by `drop`, at the end of `with`, or with its object.
#[pyclass(module = "zonda", frozen)]
pub struct Query(Mutex<Option<Inner>>);

impl Value for Inner {
    const NAME: &'static str = "Query";

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Query(Mutex::new(Some(self))))?.into_any())
    }
}

impl Query {
    fn read<R>(&self, read: impl FnOnce(&Inner) -> R) -> PyResult<R> {
        let query = self.0.lock();
        query
            .as_ref()
            .map(read)
            .ok_or_else(|| zerror("the query is dropped"))
    }

    fn alive(&self) -> PyResult<Inner> {
        self.read(Inner::clone)
    }
}

/// Warns of arguments that replies have had, as the reference's package does.
fn ignored(py: Python<'_>, congestion_control: bool, priority: bool) -> PyResult<()> {
    let given = [
        ("congestion_control", congestion_control),
        ("priority", priority),
    ];
    for (name, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
        let text =
            format!("{name} of a reply is ignored: replies have that of their query; leave it out");
        let text = CString::new(text)?;
        PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), &text, 1)?;
    }
    Ok(())
}

#[pymethods]
impl Query {
    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_args, **_kwargs))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _args: &Bound<'_, pyo3::types::PyTuple>,
        _kwargs: Option<&Bound<'_, pyo3::types::PyDict>>,
    ) {
        self.drop(py);
    }

    #[getter]
    fn selector(&self) -> PyResult<Selector> {
        self.read(|query| query.selector().into())
    }

    #[getter]
    fn key_expr(&self) -> PyResult<KeyExpr> {
        self.read(|query| KeyExpr(query.key_expr().clone()))
    }

    #[getter]
    fn parameters(&self) -> PyResult<Parameters> {
        self.read(|query| Parameters(query.parameters().clone()))
    }

    #[getter]
    fn payload(&self) -> PyResult<Option<ZBytes>> {
        self.read(|query| query.payload().cloned().map(ZBytes))
    }

    #[getter]
    fn encoding(&self) -> PyResult<Option<Encoding>> {
        self.read(|query| query.encoding().cloned().map(Encoding))
    }

    #[getter]
    fn attachment(&self) -> PyResult<Option<ZBytes>> {
        self.read(|query| query.attachment().cloned().map(ZBytes))
    }

    /// Returns the keys that replies may have.
    fn accepts_replies(&self) -> PyResult<ReplyKeyExpr> {
        self.read(|query| query.accepts_replies().into())
    }

    #[getter]
    fn source_info(&self) -> PyResult<Option<SourceInfo>> {
        self.read(|query| query.source_info().map(SourceInfo))
    }

    #[getter]
    fn timestamp_stack(&self) -> PyResult<Option<TimestampStack>> {
        self.read(|query| query.timestamp_stack().cloned().map(TimestampStack))
    }

    /// Answers with a value; a query may have several. Raises ZError if the key is none of the query's.
    #[pyo3(signature = (key_expr, payload, *, encoding=None, congestion_control=None, priority=None, express=None, attachment=None, timestamp=None))]
    fn reply(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
        payload: &Bound<'_, PyAny>,
        encoding: Option<&Bound<'_, PyAny>>,
        congestion_control: Option<CongestionControl>,
        priority: Option<Priority>,
        express: Option<bool>,
        attachment: Option<&Bound<'_, PyAny>>,
        timestamp: Option<Timestamp>,
    ) -> PyResult<()> {
        let query = self.alive()?;
        let mut reply = query.reply(key(key_expr)?, self::payload(payload)?);
        let encoding = encoding.map(self::encoding).transpose()?;
        let attachment = optional_payload(attachment)?;
        let timestamp = timestamp.map(|timestamp| timestamp.0);
        given!(reply; encoding, attachment, timestamp, express);
        ignored(py, congestion_control.is_some(), priority.is_some())?;
        gate::detached(py, || reply.wait()).or_raise()
    }

    /// Answers with an error.
    #[pyo3(signature = (payload, *, encoding=None))]
    fn reply_err(
        &self,
        py: Python<'_>,
        payload: &Bound<'_, PyAny>,
        encoding: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let query = self.alive()?;
        let mut reply = query.reply_err(self::payload(payload)?);
        let encoding = encoding.map(self::encoding).transpose()?;
        given!(reply; encoding);
        gate::detached(py, || reply.wait()).or_raise()
    }

    /// Answers that a key has no value.
    #[pyo3(signature = (key_expr, *, congestion_control=None, priority=None, express=None, attachment=None, timestamp=None))]
    fn reply_del(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
        congestion_control: Option<CongestionControl>,
        priority: Option<Priority>,
        express: Option<bool>,
        attachment: Option<&Bound<'_, PyAny>>,
        timestamp: Option<Timestamp>,
    ) -> PyResult<()> {
        let query = self.alive()?;
        let mut reply = query.reply_del(key(key_expr)?);
        let attachment = optional_payload(attachment)?;
        let timestamp = timestamp.map(|timestamp| timestamp.0);
        given!(reply; attachment, timestamp, express);
        ignored(py, congestion_control.is_some(), priority.is_some())?;
        gate::detached(py, || reply.wait()).or_raise()
    }

    /// Ends the query.
    fn drop(&self, py: Python<'_>) {
        if let Some(query) = self.0.lock().take() {
            gate::detached(py, || drop(query));
        }
    }

    fn __str__(&self) -> PyResult<String> {
        self.read(|query| query.selector().to_string())
    }

    fn __repr__(&self) -> String {
        match self.__str__() {
            Ok(selector) => format!("Query({selector:?})"),
            Err(_) => "Query(dropped)".to_owned(),
        }
    }
}

/// A token that ends the gets it is given to.
#[pyclass(module = "zonda", frozen)]
pub struct CancellationToken {
    /// The library's token.
    pub inner: InnerToken,
    callbacks: Mutex<Vec<Arc<Finished>>>,
}

impl CancellationToken {
    /// Has `cancel` wait for a callback too.
    pub fn add(&self, finished: Option<Arc<Finished>>) {
        let mut callbacks = self.callbacks.lock();
        callbacks.retain(|callback| !callback.is_finished());
        callbacks.extend(finished);
    }
}

#[pymethods]
impl CancellationToken {
    #[new]
    fn new() -> Self {
        CancellationToken {
            inner: InnerToken::default(),
            callbacks: Mutex::default(),
        }
    }

    /// Ends the gets, and waits until their callbacks and functions for the end have returned. Gets that are given the token later
    /// raise ZError.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        let callbacks = std::mem::take(&mut *self.callbacks.lock());
        gate::detached(py, || {
            let cancelled = self.inner.cancel().wait();
            callbacks.iter().for_each(|callback| callback.wait());
            cancelled
        })
        .or_raise()
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.inner.is_cancelled()
    }
}
