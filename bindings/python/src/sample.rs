// SPDX-License-Identifier: MIT OR Apache-2.0

//! Samples and replies.

use pyo3::prelude::*;
use zonda::query::{Reply as InnerReply, ReplyError as InnerError};
use zonda::sample::Sample as Inner;

use crate::bytes::ZBytes;
use crate::encoding::Encoding;
use crate::enums::{CongestionControl, Priority, SampleKind};
use crate::handlers::Value;
use crate::keys::KeyExpr;
use crate::stack::TimestampStack;
use crate::time::{EntityGlobalId, SourceInfo, Timestamp};

/// A value for a key, or the deletion of its value.
#[pyclass(module = "zonda", frozen)]
pub struct Sample(pub Inner);

impl Value for Inner {
    const NAME: &'static str = "Sample";

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Sample(self))?.into_any())
    }
}

#[pymethods]
impl Sample {
    #[getter]
    fn key_expr(&self) -> KeyExpr {
        KeyExpr(self.0.key_expr().clone())
    }

    #[getter]
    fn payload(&self) -> ZBytes {
        ZBytes(self.0.payload().clone())
    }

    #[getter]
    fn kind(&self) -> SampleKind {
        self.0.kind().into()
    }

    #[getter]
    fn encoding(&self) -> Encoding {
        Encoding(self.0.encoding().clone())
    }

    #[getter]
    fn timestamp(&self) -> Option<Timestamp> {
        self.0.timestamp().copied().map(Timestamp)
    }

    #[getter]
    fn congestion_control(&self) -> CongestionControl {
        self.0.congestion_control().into()
    }

    #[getter]
    fn priority(&self) -> Priority {
        self.0.priority().into()
    }

    #[getter]
    fn express(&self) -> bool {
        self.0.express()
    }

    #[getter]
    fn attachment(&self) -> Option<ZBytes> {
        self.0.attachment().cloned().map(ZBytes)
    }

    #[getter]
    fn source_info(&self) -> Option<SourceInfo> {
        self.0.source_info().copied().map(SourceInfo)
    }

    #[getter]
    fn timestamp_stack(&self) -> Option<TimestampStack> {
        self.0.timestamp_stack().cloned().map(TimestampStack)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A reply to a query: a sample, or an error.
#[pyclass(module = "zonda", frozen)]
pub struct Reply(InnerReply);

impl Value for InnerReply {
    const NAME: &'static str = "Reply";

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Reply(self))?.into_any())
    }
}

#[pymethods]
impl Reply {
    #[getter]
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self.0.result() {
            Ok(sample) => Py::new(py, Sample(sample.clone()))?.into_any(),
            Err(error) => Py::new(py, ReplyError(error.clone()))?.into_any(),
        })
    }

    #[getter]
    fn ok(&self) -> Option<Sample> {
        self.0.result().ok().cloned().map(Sample)
    }

    #[getter]
    fn err(&self) -> Option<ReplyError> {
        self.0.result().err().cloned().map(ReplyError)
    }

    #[getter]
    fn replier_id(&self) -> Option<EntityGlobalId> {
        self.0.replier_id().map(EntityGlobalId)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// An error that answers a query.
#[pyclass(module = "zonda", frozen)]
pub struct ReplyError(InnerError);

#[pymethods]
impl ReplyError {
    #[getter]
    fn payload(&self) -> ZBytes {
        ZBytes(self.0.payload().clone())
    }

    #[getter]
    fn encoding(&self) -> Encoding {
        Encoding(self.0.encoding().clone())
    }

    #[getter]
    fn timestamp_stack(&self) -> Option<TimestampStack> {
        self.0.timestamp_stack().cloned().map(TimestampStack)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}
