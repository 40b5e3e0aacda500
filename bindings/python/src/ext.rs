// SPDX-License-Identifier: MIT OR Apache-2.0

//! Advanced publishers and subscribers.

#![allow(clippy::too_many_arguments)]

use pyo3::prelude::*;
use zonda::Wait;
use zonda::ext as inner;
use zonda::ext::{AdvancedPublisherBuilderExt, AdvancedSubscriberBuilderExt};
use zonda::sample::Sample;

use crate::bytes::{optional_payload, payload};
use crate::encoding::encoding;
use crate::entity::{Slot, entity, given, publisher};
use crate::enums::{CongestionControl, Locality, Priority, Reliability};
use crate::error::OrRaise;
use crate::gate;
use crate::handlers::{Value, plan, seconds};
use crate::keys::{KeyExpr, key};
use crate::pubsub::Subscriber;
use crate::session::Session;
use crate::stack::TimestampInstrumentation;
use crate::time::{EntityGlobalId, Timestamp};

/// Service of an advanced publisher's repeated samples.
#[pyclass(module = "zonda.ext", frozen)]
#[derive(Clone)]
pub struct RepliesConfig(inner::RepliesConfig);

#[pymethods]
impl RepliesConfig {
    #[new]
    #[pyo3(signature = (*, congestion_control=None, priority=None, express=None))]
    fn new(
        congestion_control: Option<CongestionControl>,
        priority: Option<Priority>,
        express: Option<bool>,
    ) -> Self {
        let mut config = inner::RepliesConfig::default();
        let (congestion_control, priority) =
            (congestion_control.map(Into::into), priority.map(Into::into));
        given!(config; congestion_control, priority, express);
        RepliesConfig(config)
    }
}

/// Cache of an advanced publisher: the number of samples for each key (default 1).
#[pyclass(module = "zonda.ext", frozen)]
#[derive(Clone)]
pub struct CacheConfig(inner::CacheConfig);

#[pymethods]
impl CacheConfig {
    #[new]
    #[pyo3(signature = (max_samples=None, *, replies_config=None))]
    fn new(max_samples: Option<usize>, replies_config: Option<RepliesConfig>) -> Self {
        let mut config = inner::CacheConfig::default();
        let replies_config = replies_config.map(|replies| replies.0);
        given!(config; max_samples, replies_config);
        CacheConfig(config)
    }
}

/// History that an advanced subscriber asks for; `max_age` is in seconds.
#[pyclass(module = "zonda.ext", frozen)]
#[derive(Clone)]
pub struct HistoryConfig(inner::HistoryConfig);

#[pymethods]
impl HistoryConfig {
    #[new]
    #[pyo3(signature = (*, detect_late_publishers=None, max_samples=None, max_age=None))]
    fn new(
        detect_late_publishers: Option<bool>,
        max_samples: Option<usize>,
        max_age: Option<f64>,
    ) -> PyResult<Self> {
        let max_age = max_age.map(seconds).transpose()?;
        let max_age = max_age.map(|age| age.as_secs_f64());
        let mut config = inner::HistoryConfig::default();
        if detect_late_publishers == Some(true) {
            config = config.detect_late_publishers();
        }
        given!(config; max_samples, max_age);
        Ok(HistoryConfig(config))
    }
}

/// Numbers by which subscribers notice missed samples; periods are in seconds.
#[pyclass(module = "zonda.ext", frozen)]
#[derive(Clone)]
pub struct MissDetectionConfig(inner::MissDetectionConfig);

#[pymethods]
impl MissDetectionConfig {
    #[new]
    #[pyo3(signature = (*, heartbeat=None, sporadic_heartbeat=None))]
    fn new(heartbeat: Option<f64>, sporadic_heartbeat: Option<f64>) -> PyResult<Self> {
        let mut config = inner::MissDetectionConfig::default();
        let heartbeat = heartbeat.map(seconds).transpose()?;
        let sporadic_heartbeat = sporadic_heartbeat.map(seconds).transpose()?;
        given!(config; heartbeat, sporadic_heartbeat);
        Ok(MissDetectionConfig(config))
    }
}

/// Recovery of missed samples: by questions with a period in seconds, or by heartbeats.
#[pyclass(module = "zonda.ext", frozen)]
#[derive(Clone)]
pub struct RecoveryConfig {
    period: Option<std::time::Duration>,
    heartbeat: bool,
}

#[pymethods]
impl RecoveryConfig {
    #[new]
    #[pyo3(signature = (*, periodic_queries=None, heartbeat=None))]
    fn new(periodic_queries: Option<f64>, heartbeat: Option<bool>) -> PyResult<Self> {
        let period = periodic_queries.map(seconds).transpose()?;
        let heartbeat = heartbeat == Some(true);
        if period.is_some() && heartbeat {
            return Err(crate::error::zerror(
                "periodic_queries and heartbeat exclude each other: give one",
            ));
        }
        Ok(RecoveryConfig { period, heartbeat })
    }
}

/// A number of samples that did not arrive.
#[pyclass(module = "zonda.ext", frozen)]
pub struct Miss(inner::Miss);

impl Value for inner::Miss {
    const NAME: &'static str = "Miss";

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Miss(self))?.into_any())
    }
}

#[pymethods]
impl Miss {
    #[getter]
    fn source(&self) -> EntityGlobalId {
        EntityGlobalId(self.0.source())
    }

    #[getter]
    fn nb(&self) -> u32 {
        self.0.nb()
    }
}

publisher! {
    /// A publisher with a cache, numbers and a token, for advanced subscribers.
    "zonda.ext" AdvancedPublisher: inner::AdvancedPublisher<'static> {
        /// Publishes a value. Raises ZError.
        #[pyo3(signature = (payload, *, encoding=None, attachment=None, timestamp=None, timestamp_instrumentation=None))]
        fn put(
            &self,
            py: Python<'_>,
            payload: &Bound<'_, PyAny>,
            encoding: Option<&Bound<'_, PyAny>>,
            attachment: Option<&Bound<'_, PyAny>>,
            timestamp: Option<Timestamp>,
            timestamp_instrumentation: Option<TimestampInstrumentation>,
        ) -> PyResult<()> {
            let payload = self::payload(payload)?;
            let encoding = encoding.map(self::encoding).transpose()?;
            let attachment = optional_payload(attachment)?;
            let timestamp = timestamp.map(|timestamp| timestamp.0);
            let timestamp_instrumentation = timestamp_instrumentation.map(|points| points.0);
            self.0.read(|publisher| {
                let mut put = publisher.put(payload);
                given!(put; encoding, attachment, timestamp, timestamp_instrumentation);
                gate::detached(py, || put.wait()).or_raise()
            })?
        }

        /// Publishes that the key has no value any more. Raises ZError.
        #[pyo3(signature = (*, attachment=None, timestamp=None, timestamp_instrumentation=None))]
        fn delete(
            &self,
            py: Python<'_>,
            attachment: Option<&Bound<'_, PyAny>>,
            timestamp: Option<Timestamp>,
            timestamp_instrumentation: Option<TimestampInstrumentation>,
        ) -> PyResult<()> {
            let attachment = optional_payload(attachment)?;
            let timestamp = timestamp.map(|timestamp| timestamp.0);
            let timestamp_instrumentation = timestamp_instrumentation.map(|points| points.0);
            self.0.read(|publisher| {
                let mut delete = publisher.delete();
                given!(delete; attachment, timestamp, timestamp_instrumentation);
                gate::detached(py, || delete.wait()).or_raise()
            })?
        }
    }
}

entity! {
    /// A subscriber that asks for history and for missed samples.
    "zonda.ext" AdvancedSubscriber: inner::AdvancedSubscriber<()>, undeclare {
        #[getter]
        fn id(&self) -> PyResult<EntityGlobalId> {
            self.slot.read(|subscriber| EntityGlobalId(subscriber.id()))
        }

        #[getter]
        fn key_expr(&self) -> PyResult<KeyExpr> {
            self.slot.read(|subscriber| KeyExpr(subscriber.key_expr().clone()))
        }

        /// Listens to samples that did not arrive and cannot be had any more.
        #[pyo3(signature = (handler=None))]
        fn sample_miss_listener(
            &self,
            py: Python<'_>,
            handler: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<SampleMissListener> {
            let plan = plan::<inner::Miss>(py, handler)?;
            self.slot.read(|subscriber| {
                let builder = subscriber.sample_miss_listener().with(plan.sink);
                let listener = gate::detached(py, || builder.wait()).or_raise()?;
                Ok(SampleMissListener::lasting(listener, plan.handler, plan.background))
            })?
        }

        /// Subscribes to matching advanced publishers that come and go.
        #[pyo3(signature = (handler=None, *, history=None))]
        fn detect_publishers(
            &self,
            py: Python<'_>,
            handler: Option<&Bound<'_, PyAny>>,
            history: Option<bool>,
        ) -> PyResult<Subscriber> {
            let plan = plan::<Sample>(py, handler)?;
            self.slot.read(|subscriber| {
                let mut builder = subscriber.detect_publishers().with(plan.sink);
                given!(builder; history);
                let mut detection = gate::detached(py, || builder.wait()).or_raise()?;
                detection.set_background(plan.background);
                Ok(Subscriber::new(detection, plan.handler))
            })?
        }
    }
}

entity! {
    /// A listener to missed samples.
    "zonda.ext" SampleMissListener: inner::SampleMissListener<()>, undeclare {}
}

/// Declares an advanced publisher. Raises ZError.
#[pyfunction]
#[pyo3(signature = (session, key_expr, *, encoding=None, congestion_control=None, priority=None, express=None, reliability=None, allowed_destination=None, cache=None, sample_miss_detection=None, publisher_detection=None))]
pub fn declare_advanced_publisher(
    py: Python<'_>,
    session: &Session,
    key_expr: &Bound<'_, PyAny>,
    encoding: Option<&Bound<'_, PyAny>>,
    congestion_control: Option<CongestionControl>,
    priority: Option<Priority>,
    express: Option<bool>,
    reliability: Option<Reliability>,
    allowed_destination: Option<Locality>,
    cache: Option<CacheConfig>,
    sample_miss_detection: Option<MissDetectionConfig>,
    publisher_detection: Option<bool>,
) -> PyResult<AdvancedPublisher> {
    let mut builder = session.0.declare_publisher(key(key_expr)?).advanced();
    let encoding = encoding.map(self::encoding).transpose()?;
    let (congestion_control, priority) =
        (congestion_control.map(Into::into), priority.map(Into::into));
    let (reliability, allowed_destination) = (
        reliability.map(Into::into),
        allowed_destination.map(Into::into),
    );
    let cache = cache.map(|cache| cache.0);
    let sample_miss_detection = sample_miss_detection.map(|detection| detection.0);
    given!(builder; encoding, congestion_control, priority, express, reliability, allowed_destination, cache, sample_miss_detection);
    if publisher_detection == Some(true) {
        builder = builder.publisher_detection();
    }
    let publisher = gate::detached(py, || builder.wait()).or_raise()?;
    Ok(AdvancedPublisher(Slot::new(publisher)))
}

/// Declares an advanced subscriber. Raises ZError.
#[pyfunction]
#[pyo3(signature = (session, key_expr, handler=None, *, allowed_origin=None, history=None, recovery=None, subscriber_detection=None))]
pub fn declare_advanced_subscriber(
    py: Python<'_>,
    session: &Session,
    key_expr: &Bound<'_, PyAny>,
    handler: Option<&Bound<'_, PyAny>>,
    allowed_origin: Option<Locality>,
    history: Option<HistoryConfig>,
    recovery: Option<RecoveryConfig>,
    subscriber_detection: Option<bool>,
) -> PyResult<AdvancedSubscriber> {
    let key = key(key_expr)?;
    let plan = plan::<Sample>(py, handler)?;
    let mut builder = session.0.declare_subscriber(key).with(plan.sink).advanced();
    let allowed_origin = allowed_origin.map(Into::into);
    let history = history.map(|history| history.0);
    given!(builder; allowed_origin, history);
    builder = match recovery {
        Some(RecoveryConfig {
            period: Some(period),
            ..
        }) => builder.recovery(inner::RecoveryConfig::default().periodic_queries(period)),
        Some(RecoveryConfig {
            heartbeat: true, ..
        }) => builder.recovery(inner::RecoveryConfig::default().heartbeat()),
        _ => builder,
    };
    if subscriber_detection == Some(true) {
        builder = builder.subscriber_detection();
    }
    let subscriber = gate::detached(py, || builder.wait()).or_raise()?;
    Ok(AdvancedSubscriber::lasting(
        subscriber,
        plan.handler,
        plan.background,
    ))
}
