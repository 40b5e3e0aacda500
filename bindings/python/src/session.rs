// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sessions.

#![allow(clippy::too_many_arguments)]

use std::ops::Deref;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zonda::Wait;
use zonda::query::{Query, Reply};
use zonda::sample::Sample;

use crate::bytes::{optional_payload, payload};
use crate::config::Config;
use crate::encoding::encoding;
use crate::entity::{Slot, given};
use crate::enums::{
    CongestionControl, Consolidation, Locality, Priority, QueryTarget, Reliability, ReplyKeyExpr,
};
use crate::error::OrRaise;
use crate::gate;
use crate::handlers::{plan, report, seconds};
use crate::info::SessionInfo;
use crate::keys::{KeyExpr, key, selector};
use crate::liveliness::Liveliness;
use crate::pubsub::{Publisher, Subscriber, publish};
use crate::query::CancellationToken;
use crate::querying::{Querier, Queryable};
use crate::stack::{TimestampContext, TimestampInstrumentation};
use crate::time::{EntityGlobalId, SourceInfo, Timestamp, ZenohId};

/// Sessions that the end of the interpreter closes.
static OPEN: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// Limit of the time that the end of the interpreter waits for one session.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// A session that several objects share.
pub struct Shared {
    session: Option<zonda::Session>,
    process: u32,
}

impl Deref for Shared {
    type Target = zonda::Session;

    #[allow(clippy::expect_used)]
    fn deref(&self) -> &zonda::Session {
        self.session
            .as_ref()
            .expect("only the drop takes the session")
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if gate::is_exiting() || self.process != std::process::id() {
            // the end of the interpreter closed it, or it is of another process
            std::mem::forget(self.session.take());
        } else {
            gate::let_go(self.session.take());
        }
    }
}

/// Closes all sessions at the end of the interpreter.
#[pyfunction]
pub fn _at_exit(py: Python<'_>) {
    let open: Vec<Arc<Shared>> = OPEN.lock().iter().filter_map(Weak::upgrade).collect();
    gate::end(py, move || {
        for session in open {
            if session.process == std::process::id() {
                let _ = session.close().timeout(CLOSE_MAX).wait();
            }
            std::mem::forget(session);
        }
    });
}

/// Opens a session. `timestamp_callback` gives the times of time-stamp stacks. Raises ZError.
#[pyfunction]
#[pyo3(signature = (config, *, timestamp_callback=None))]
pub fn open(
    py: Python<'_>,
    config: &Config,
    timestamp_callback: Option<Py<PyAny>>,
) -> PyResult<Session> {
    let mut opening = zonda::open(config.0.clone());
    if let Some(callback) = timestamp_callback {
        opening = opening.with_timestamp_callback(move |context| time_of(&callback, context));
    }
    let session = gate::detached(py, || opening.wait()).or_raise()?;
    let shared = Arc::new(Shared {
        session: Some(session),
        process: std::process::id(),
    });
    let mut open = OPEN.lock();
    open.retain(|session| session.strong_count() > 0);
    open.push(Arc::downgrade(&shared));
    Ok(Session(shared))
}

fn time_of(callback: &Py<PyAny>, context: zonda::timestamp_stack::TimestampContext) -> Vec<u8> {
    let time = gate::attached(|py| {
        let given = callback
            .call1(py, (TimestampContext(context),))
            .and_then(|time| time.extract::<Vec<u8>>(py));
        given.unwrap_or_else(|error| {
            report(py, error);
            Vec::new()
        })
    });
    time.unwrap_or_default()
}

/// A session: a node of the network.
#[pyclass(module = "zonda", frozen)]
pub struct Session(pub Arc<Shared>);

/// Options of a put or a delete.
struct Options {
    encoding: Option<zonda::bytes::Encoding>,
    congestion_control: Option<zonda::qos::CongestionControl>,
    priority: Option<zonda::qos::Priority>,
    express: Option<bool>,
    attachment: Option<zonda::bytes::ZBytes>,
    timestamp: Option<zonda::time::Timestamp>,
    timestamp_instrumentation: Option<zonda::timestamp_stack::TimestampInstrumentation>,
    allowed_destination: Option<zonda::sample::Locality>,
    source_info: Option<zonda::sample::SourceInfo>,
}

impl Options {
    fn put<'s>(
        &self,
        session: &'s zonda::Session,
        key: &zonda::key_expr::KeyExpr<'static>,
        payload: &zonda::bytes::ZBytes,
    ) -> zonda::pubsub::SessionPutBuilder<'s, 'static> {
        let mut put = session.put(key.clone(), payload.clone());
        let Options {
            encoding,
            attachment,
            ..
        } = self;
        let (encoding, attachment) = (encoding.clone(), attachment.clone());
        let Options {
            congestion_control,
            priority,
            express,
            timestamp,
            ..
        } = *self;
        let Options {
            timestamp_instrumentation,
            allowed_destination,
            source_info,
            ..
        } = *self;
        given!(put; encoding, congestion_control, priority, express, attachment, timestamp);
        given!(put; timestamp_instrumentation, allowed_destination, source_info);
        put
    }
}

#[pymethods]
impl Session {
    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_args, **_kwargs))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _args: &Bound<'_, PyTuple>,
        _kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.close(py)
    }

    #[getter]
    fn info(&self) -> SessionInfo {
        SessionInfo(self.0.clone())
    }

    #[getter]
    fn id(&self) -> EntityGlobalId {
        EntityGlobalId(self.0.id())
    }

    /// Returns the id of the node.
    fn zid(&self) -> ZenohId {
        ZenohId(self.0.zid())
    }

    /// Closes the session, with all that it declared. Raises ZError.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        gate::detached(py, || self.0.close().wait()).or_raise()
    }

    /// Returns whether the session is closed.
    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Undeclares a key expression. Raises ZError if the session did not declare it.
    fn undeclare(&self, py: Python<'_>, obj: &KeyExpr) -> PyResult<()> {
        gate::detached(py, || self.0.undeclare(obj.0.clone()).wait()).or_raise()
    }

    /// Returns a new time of the session's clock.
    fn new_timestamp(&self) -> Timestamp {
        Timestamp(self.0.new_timestamp())
    }

    /// Declares a key expression, which then takes fewer bytes in messages. Raises ZError.
    fn declare_keyexpr(&self, py: Python<'_>, key_expr: &Bound<'_, PyAny>) -> PyResult<KeyExpr> {
        let key = key(key_expr)?;
        gate::detached(py, || self.0.declare_keyexpr(key).wait())
            .or_raise()
            .map(KeyExpr)
    }

    /// Publishes a value. Raises ZError.
    #[pyo3(signature = (key_expr, payload, *, encoding=None, congestion_control=None, priority=None, express=None, attachment=None, timestamp=None, timestamp_instrumentation=None, allowed_destination=None, source_info=None))]
    fn put(
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
        timestamp_instrumentation: Option<TimestampInstrumentation>,
        allowed_destination: Option<Locality>,
        source_info: Option<SourceInfo>,
    ) -> PyResult<()> {
        let key = key(key_expr)?;
        let payload = self::payload(payload)?;
        let options = Options {
            encoding: encoding.map(self::encoding).transpose()?,
            congestion_control: congestion_control.map(Into::into),
            priority: priority.map(Into::into),
            express,
            attachment: optional_payload(attachment)?,
            timestamp: timestamp.map(|timestamp| timestamp.0),
            timestamp_instrumentation: timestamp_instrumentation.map(|points| points.0),
            allowed_destination: allowed_destination.map(Into::into),
            source_info: source_info.map(|source| source.0),
        };
        let session = &**self.0;
        publish(
            py,
            || options.put(session, &key, &payload).try_publish(),
            || options.put(session, &key, &payload).wait(),
        )
    }

    /// Publishes that a key has no value any more. Raises ZError.
    #[pyo3(signature = (key_expr, *, congestion_control=None, priority=None, express=None, attachment=None, timestamp=None, timestamp_instrumentation=None, allowed_destination=None, source_info=None))]
    fn delete(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
        congestion_control: Option<CongestionControl>,
        priority: Option<Priority>,
        express: Option<bool>,
        attachment: Option<&Bound<'_, PyAny>>,
        timestamp: Option<Timestamp>,
        timestamp_instrumentation: Option<TimestampInstrumentation>,
        allowed_destination: Option<Locality>,
        source_info: Option<SourceInfo>,
    ) -> PyResult<()> {
        let mut delete = self.0.delete(key(key_expr)?);
        let attachment = optional_payload(attachment)?;
        let timestamp = timestamp.map(|timestamp| timestamp.0);
        let timestamp_instrumentation = timestamp_instrumentation.map(|points| points.0);
        let source_info = source_info.map(|source| source.0);
        let (congestion_control, priority) =
            (congestion_control.map(Into::into), priority.map(Into::into));
        let allowed_destination = allowed_destination.map(Into::into);
        given!(delete; congestion_control, priority, express, attachment, timestamp, timestamp_instrumentation, allowed_destination, source_info);
        gate::detached(py, || delete.wait()).or_raise()
    }

    /// Asks all queryables that match. Returns the handler of the replies: `for reply in session.get("demo/**")`,
    /// `async for reply in await session.get("demo/**")`. `timeout` is in seconds (default 10). Raises ZError.
    #[pyo3(signature = (selector, handler=None, *, target=None, consolidation=None, accept_replies=None, timeout=None, congestion_control=None, priority=None, express=None, payload=None, encoding=None, attachment=None, allowed_destination=None, source_info=None, cancellation_token=None, timestamp_instrumentation=None))]
    fn get(
        &self,
        py: Python<'_>,
        selector: &Bound<'_, PyAny>,
        handler: Option<&Bound<'_, PyAny>>,
        target: Option<QueryTarget>,
        consolidation: Option<Consolidation>,
        accept_replies: Option<ReplyKeyExpr>,
        timeout: Option<f64>,
        congestion_control: Option<CongestionControl>,
        priority: Option<Priority>,
        express: Option<bool>,
        payload: Option<&Bound<'_, PyAny>>,
        encoding: Option<&Bound<'_, PyAny>>,
        attachment: Option<&Bound<'_, PyAny>>,
        allowed_destination: Option<Locality>,
        source_info: Option<SourceInfo>,
        cancellation_token: Option<&Bound<'_, CancellationToken>>,
        timestamp_instrumentation: Option<TimestampInstrumentation>,
    ) -> PyResult<Py<PyAny>> {
        let selector = self::selector(selector)?;
        let payload = optional_payload(payload)?;
        let attachment = optional_payload(attachment)?;
        let encoding = encoding.map(self::encoding).transpose()?;
        let timeout = timeout.map(seconds).transpose()?;
        let source_info = source_info.map(|source| source.0);
        let timestamp_instrumentation = timestamp_instrumentation.map(|points| points.0);
        let (target, consolidation) = (
            target.map(Into::into),
            consolidation.map(zonda::query::ConsolidationMode::from),
        );
        let (congestion_control, priority) =
            (congestion_control.map(Into::into), priority.map(Into::into));
        let (accept_replies, allowed_destination) = (
            accept_replies.map(Into::into),
            allowed_destination.map(Into::into),
        );
        let plan = plan::<Reply>(py, handler)?;
        if let Some(token) = cancellation_token {
            token.get().add(plan.finished);
        }
        let cancellation_token = cancellation_token.map(|token| token.get().inner.clone());
        let mut get = self.0.get(selector).with(plan.sink);
        given!(get; target, consolidation, accept_replies, timeout, congestion_control, priority, express, payload, encoding, attachment);
        given!(get; allowed_destination, source_info, cancellation_token, timestamp_instrumentation);
        gate::detached(py, || get.wait()).or_raise()?;
        Ok(plan.handler)
    }

    /// Subscribes. `handler` is None, a channel of `zonda.handlers`, a function, or a tuple of a function and a handler.
    /// Raises ZError.
    #[pyo3(signature = (key_expr, handler=None, *, allowed_origin=None))]
    fn declare_subscriber(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
        handler: Option<&Bound<'_, PyAny>>,
        allowed_origin: Option<Locality>,
    ) -> PyResult<Subscriber> {
        let key = key(key_expr)?;
        let plan = plan::<Sample>(py, handler)?;
        let mut builder = self.0.declare_subscriber(key).with(plan.sink);
        let allowed_origin = allowed_origin.map(Into::into);
        given!(builder; allowed_origin);
        let mut subscriber = gate::detached(py, || builder.wait()).or_raise()?;
        subscriber.set_background(plan.background);
        Ok(Subscriber::new(subscriber, plan.handler))
    }

    /// Declares a queryable. Raises ZError.
    #[pyo3(signature = (key_expr, handler=None, *, complete=None, allowed_origin=None))]
    fn declare_queryable(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
        handler: Option<&Bound<'_, PyAny>>,
        complete: Option<bool>,
        allowed_origin: Option<Locality>,
    ) -> PyResult<Queryable> {
        let key = key(key_expr)?;
        let plan = plan::<Query>(py, handler)?;
        let mut builder = self.0.declare_queryable(key).with(plan.sink);
        let allowed_origin = allowed_origin.map(Into::into);
        given!(builder; complete, allowed_origin);
        let mut queryable = gate::detached(py, || builder.wait()).or_raise()?;
        queryable.set_background(plan.background);
        Ok(Queryable::new(queryable, plan.handler))
    }

    /// Declares a publisher. Raises ZError.
    #[pyo3(signature = (key_expr, *, encoding=None, congestion_control=None, priority=None, express=None, reliability=None, allowed_destination=None))]
    fn declare_publisher(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
        encoding: Option<&Bound<'_, PyAny>>,
        congestion_control: Option<CongestionControl>,
        priority: Option<Priority>,
        express: Option<bool>,
        reliability: Option<Reliability>,
        allowed_destination: Option<Locality>,
    ) -> PyResult<Publisher> {
        let mut builder = self.0.declare_publisher(key(key_expr)?);
        let encoding = encoding.map(self::encoding).transpose()?;
        let (congestion_control, priority) =
            (congestion_control.map(Into::into), priority.map(Into::into));
        let (reliability, allowed_destination) = (
            reliability.map(Into::into),
            allowed_destination.map(Into::into),
        );
        given!(builder; encoding, congestion_control, priority, express, reliability, allowed_destination);
        let publisher = gate::detached(py, || builder.wait()).or_raise()?;
        Ok(Publisher(Slot::new(publisher)))
    }

    /// Declares a querier. `timeout` is in seconds. Raises ZError.
    #[pyo3(signature = (key_expr, *, target=None, consolidation=None, accept_replies=None, timeout=None, congestion_control=None, priority=None, express=None, allowed_destination=None))]
    fn declare_querier(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
        target: Option<QueryTarget>,
        consolidation: Option<Consolidation>,
        accept_replies: Option<ReplyKeyExpr>,
        timeout: Option<f64>,
        congestion_control: Option<CongestionControl>,
        priority: Option<Priority>,
        express: Option<bool>,
        allowed_destination: Option<Locality>,
    ) -> PyResult<Querier> {
        let mut builder = self.0.declare_querier(key(key_expr)?);
        let timeout = timeout.map(seconds).transpose()?;
        let (target, consolidation) = (
            target.map(Into::into),
            consolidation.map(zonda::query::ConsolidationMode::from),
        );
        let (congestion_control, priority) =
            (congestion_control.map(Into::into), priority.map(Into::into));
        let (accept_replies, allowed_destination) = (
            accept_replies.map(Into::into),
            allowed_destination.map(Into::into),
        );
        given!(builder; target, consolidation, accept_replies, timeout, congestion_control, priority, express, allowed_destination);
        let querier = gate::detached(py, || builder.wait()).or_raise()?;
        Ok(Querier(Slot::new(querier)))
    }

    /// Returns the liveliness of the session.
    fn liveliness(&self) -> Liveliness {
        Liveliness(self.0.clone())
    }

    fn __repr__(&self) -> String {
        format!("Session({})", self.0.zid())
    }
}
