// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times that nodes record in a message.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zonda::timestamp_stack as inner;

use crate::enums::{InterceptionPoint, WhatAmI};
use crate::error::OrRaise;
use crate::time::{Timestamp, ZenohId};

/// The node that a record is of.
#[pyclass(module = "zonda", frozen)]
pub struct TimestampContext(pub inner::TimestampContext);

#[pymethods]
impl TimestampContext {
    #[getter]
    fn zid(&self) -> ZenohId {
        ZenohId(self.0.zid)
    }

    #[getter]
    fn whatami(&self) -> WhatAmI {
        self.0.whatami.into()
    }

    fn __repr__(&self) -> String {
        format!("TimestampContext({}, {})", self.0.zid, self.0.whatami)
    }
}

/// Choice of points at which times are recorded, under construction.
#[pyclass(module = "zonda", frozen)]
#[derive(Clone, Copy, Default)]
pub struct TimestampInstrumentationBuilder(inner::TimestampInstrumentationBuilder);

#[pymethods]
impl TimestampInstrumentationBuilder {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Returns the choice with the point where the message leaves its application, or without.
    fn set_send(&self, enabled: bool) -> Self {
        Self(self.0.set_send(enabled))
    }

    /// Returns the choice with each node on the way, or without.
    fn set_route(&self, enabled: bool) -> Self {
        Self(self.0.set_route(enabled))
    }

    /// Returns the choice with the point where the message reaches an application, or without.
    fn set_receive(&self, enabled: bool) -> Self {
        Self(self.0.set_receive(enabled))
    }

    /// Returns the choice. Raises ZError if there is no point.
    fn build(&self) -> PyResult<TimestampInstrumentation> {
        self.0.build().or_raise().map(TimestampInstrumentation)
    }
}

/// Choice of points at which times are recorded.
#[pyclass(module = "zonda", frozen)]
#[derive(Clone, Copy)]
pub struct TimestampInstrumentation(pub inner::TimestampInstrumentation);

#[pymethods]
impl TimestampInstrumentation {
    /// Returns whether times are recorded at a point.
    fn is_instrumented(&self, point: InterceptionPoint) -> bool {
        self.0.is_instrumented(point.into())
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// One recorded time.
#[pyclass(module = "zonda", frozen)]
pub struct TimestampStackRecord(inner::TimestampStackRecord);

#[pymethods]
impl TimestampStackRecord {
    #[getter]
    fn point(&self) -> InterceptionPoint {
        self.0.point().into()
    }

    #[getter]
    fn is_custom(&self) -> bool {
        self.0.is_custom()
    }

    /// Returns the time, or the bytes that an application's function gave.
    fn timestamp(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self.0.timestamp() {
            inner::InstrumentationTimestamp::UHLC(time) => {
                Py::new(py, Timestamp(*time))?.into_any()
            }
            inner::InstrumentationTimestamp::Custom(bytes) => {
                PyBytes::new(py, bytes).into_any().unbind()
            }
        })
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// The times of a message.
#[pyclass(module = "zonda", frozen)]
pub struct TimestampStack(pub inner::TimestampStack);

#[pymethods]
impl TimestampStack {
    #[getter]
    fn instrumentation(&self) -> TimestampInstrumentation {
        TimestampInstrumentation(self.0.instrumentation())
    }

    #[getter]
    fn records(&self) -> Vec<TimestampStackRecord> {
        self.0
            .records()
            .iter()
            .cloned()
            .map(TimestampStackRecord)
            .collect()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
