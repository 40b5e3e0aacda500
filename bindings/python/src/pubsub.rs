// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publishers, subscribers, listeners to matching.

#![allow(clippy::too_many_arguments)]

use pyo3::prelude::*;
use zonda::matching::MatchingStatus as InnerStatus;
use zonda::pubsub::{Publisher as Inner, Subscriber as InnerSubscriber};
use zonda::{PublishError, Wait};

use crate::bytes::{optional_payload, payload};
use crate::encoding::encoding;
use crate::entity::{entity, given, publisher};
use crate::enums::Reliability;
use crate::error::{OrRaise, zerror};
use crate::gate;
use crate::handlers::{Value, plan};
use crate::keys::KeyExpr;
use crate::stack::TimestampInstrumentation;
use crate::time::{EntityGlobalId, SourceInfo, Timestamp};

/// Publishes: with the interpreter's lock held while there is room, and released to wait for room.
pub fn publish<T>(
    py: Python<'_>,
    at_once: impl FnOnce() -> Result<T, PublishError>,
    patiently: impl FnOnce() -> zonda::Result<()> + Send,
) -> PyResult<()> {
    match gate::kept(at_once) {
        Ok(_) | Err(PublishError::Dropped { .. }) => Ok(()),
        Err(PublishError::WouldBlock { .. }) => gate::detached(py, patiently).or_raise(),
        Err(error) => {
            // a thread that still publishes at the end of the interpreter stays in here
            gate::detached(py, || ());
            Err(zerror(error))
        }
    }
}

publisher! {
    /// A declared publisher: the fast way to put many values to one key.
    "zonda" Publisher: Inner<'static> {
        #[getter]
        fn reliability(&self) -> PyResult<Reliability> {
            self.0.read(|publisher| publisher.reliability().into())
        }

        /// True if some subscriber matches.
        #[getter]
        fn matching_status(&self) -> PyResult<MatchingStatus> {
            let status = self
                .0
                .read(|publisher| publisher.matching_status().wait())?;
            status.or_raise().map(MatchingStatus)
        }

        /// Publishes a value.
        #[pyo3(signature = (payload, *, encoding=None, attachment=None, timestamp=None, timestamp_instrumentation=None, source_info=None))]
        fn put(
            &self,
            py: Python<'_>,
            payload: &Bound<'_, PyAny>,
            encoding: Option<&Bound<'_, PyAny>>,
            attachment: Option<&Bound<'_, PyAny>>,
            timestamp: Option<Timestamp>,
            timestamp_instrumentation: Option<TimestampInstrumentation>,
            source_info: Option<SourceInfo>,
        ) -> PyResult<()> {
            let payload = self::payload(payload)?;
            let encoding = encoding.map(self::encoding).transpose()?;
            let attachment = optional_payload(attachment)?;
            let make = Make {
                payload,
                encoding,
                attachment,
                timestamp,
                timestamp_instrumentation,
                source_info,
            };
            self.0.read(|publisher| {
                publish(
                    py,
                    || make.put(publisher).try_publish(),
                    || make.put(publisher).wait(),
                )
            })?
        }

        /// Publishes that the key has no value any more.
        #[pyo3(signature = (*, attachment=None, timestamp=None, timestamp_instrumentation=None, source_info=None))]
        fn delete(
            &self,
            py: Python<'_>,
            attachment: Option<&Bound<'_, PyAny>>,
            timestamp: Option<Timestamp>,
            timestamp_instrumentation: Option<TimestampInstrumentation>,
            source_info: Option<SourceInfo>,
        ) -> PyResult<()> {
            let attachment = optional_payload(attachment)?;
            let timestamp = timestamp.map(|timestamp| timestamp.0);
            let source_info = source_info.map(|source| source.0);
            let timestamp_instrumentation = timestamp_instrumentation.map(|points| points.0);
            self.0.read(|publisher| {
                let mut delete = publisher.delete();
                given!(delete; attachment, timestamp, source_info, timestamp_instrumentation);
                gate::detached(py, || delete.wait()).or_raise()
            })?
        }

        /// Listens to changes between some and no matching subscriber.
        #[pyo3(signature = (handler=None))]
        fn declare_matching_listener(
            &self,
            py: Python<'_>,
            handler: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<MatchingListener> {
            let plan = plan::<InnerStatus>(py, handler)?;
            self.0.read(|publisher| {
                let builder = publisher.matching_listener().with(plan.sink);
                let mut listener = gate::detached(py, || builder.wait()).or_raise()?;
                listener.set_background(plan.background);
                Ok(MatchingListener::new(listener, plan.handler))
            })?
        }
    }
}

/// A put with its options, which may have to be made twice.
struct Make {
    payload: zonda::bytes::ZBytes,
    encoding: Option<zonda::bytes::Encoding>,
    attachment: Option<zonda::bytes::ZBytes>,
    timestamp: Option<Timestamp>,
    timestamp_instrumentation: Option<TimestampInstrumentation>,
    source_info: Option<SourceInfo>,
}

impl Make {
    #[inline]
    fn put<'p>(&self, publisher: &'p Inner<'static>) -> zonda::pubsub::PublisherPutBuilder<'p> {
        let mut put = publisher.put(self.payload.clone());
        let (encoding, attachment) = (self.encoding.clone(), self.attachment.clone());
        let timestamp = self.timestamp.map(|timestamp| timestamp.0);
        let source_info = self.source_info.map(|source| source.0);
        let timestamp_instrumentation = self.timestamp_instrumentation.map(|points| points.0);
        given!(put; encoding, attachment, timestamp, source_info, timestamp_instrumentation);
        put
    }
}

entity! {
    /// A subscriber: `for sample in subscriber`, `async for sample in subscriber`, or a callback.
    "zonda" Subscriber: InnerSubscriber<()>, undeclare {
        #[getter]
        fn id(&self) -> PyResult<EntityGlobalId> {
            self.slot.read(|subscriber| EntityGlobalId(subscriber.id()))
        }

        #[getter]
        fn key_expr(&self) -> PyResult<KeyExpr> {
            self.slot.read(|subscriber| KeyExpr(subscriber.key_expr().clone()))
        }
    }
}

/// State of matching; true or false as itself.
#[pyclass(module = "zonda", frozen, eq)]
#[derive(Clone, Copy, PartialEq)]
pub struct MatchingStatus(pub InnerStatus);

impl Value for InnerStatus {
    const NAME: &'static str = "MatchingStatus";

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, MatchingStatus(self))?.into_any())
    }
}

#[pymethods]
impl MatchingStatus {
    #[getter]
    fn matching(&self) -> bool {
        self.0.matching()
    }

    fn __bool__(&self) -> bool {
        self.0.matching()
    }

    fn __repr__(&self) -> String {
        format!("MatchingStatus(matching={})", self.0.matching())
    }
}

entity! {
    /// A listener to changes of matching.
    "zonda" MatchingListener: zonda::matching::MatchingListener<()>, undeclare {}
}
