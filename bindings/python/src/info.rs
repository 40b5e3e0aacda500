// SPDX-License-Identifier: MIT OR Apache-2.0

//! Connections of a session.

use std::sync::Arc;

use pyo3::prelude::*;
use zonda::Wait;
use zonda::session as inner;

use crate::entity::{entity, given};
use crate::enums::{Reliability, SampleKind, WhatAmI};
use crate::error::OrRaise;
use crate::gate;
use crate::handlers::{Value, plan};
use crate::session::Shared;
use crate::time::ZenohId;

/// Knowledge of a session about itself and its neighbours.
#[pyclass(module = "zonda", frozen)]
pub struct SessionInfo(pub Arc<Shared>);

#[pymethods]
impl SessionInfo {
    /// Returns the id of the session's node.
    fn zid(&self) -> ZenohId {
        ZenohId(self.0.zid())
    }

    /// Returns the ids of the routers it is connected to.
    fn routers_zid(&self) -> Vec<ZenohId> {
        self.0.info().routers_zid().wait().map(ZenohId).collect()
    }

    /// Returns the ids of the peers it is connected to.
    fn peers_zid(&self) -> Vec<ZenohId> {
        self.0.info().peers_zid().wait().map(ZenohId).collect()
    }

    /// Returns the addresses it listens on.
    fn locators(&self) -> Vec<String> {
        let locators: Vec<_> = self.0.info().locators().into_iter().collect();
        locators.iter().map(ToString::to_string).collect()
    }

    /// Returns the connections.
    fn transports(&self) -> Vec<Transport> {
        self.0.info().transports().wait().map(Transport).collect()
    }

    /// Returns the links of all connections.
    fn links(&self) -> Vec<Link> {
        self.0.info().links().into_iter().map(Link).collect()
    }

    /// Listens to connections that open and close; with `history` also to those that are open.
    #[pyo3(signature = (handler=None, *, history=None))]
    fn declare_transport_events_listener(
        &self,
        py: Python<'_>,
        handler: Option<&Bound<'_, PyAny>>,
        history: Option<bool>,
    ) -> PyResult<TransportEventsListener> {
        let plan = plan::<inner::TransportEvent>(py, handler)?;
        let info = self.0.info();
        let mut builder = info.transport_events_listener().with(plan.sink);
        given!(builder; history);
        let listener = gate::detached(py, || builder.wait()).or_raise()?;
        Ok(TransportEventsListener::lasting(
            listener,
            plan.handler,
            plan.background,
        ))
    }

    /// Listens to links that open and close; with `history` also to those that are open.
    #[pyo3(signature = (handler=None, *, history=None))]
    fn declare_link_events_listener(
        &self,
        py: Python<'_>,
        handler: Option<&Bound<'_, PyAny>>,
        history: Option<bool>,
    ) -> PyResult<LinkEventsListener> {
        let plan = plan::<inner::LinkEvent>(py, handler)?;
        let info = self.0.info();
        let mut builder = info.link_events_listener().with(plan.sink);
        given!(builder; history);
        let listener = gate::detached(py, || builder.wait()).or_raise()?;
        Ok(LinkEventsListener::lasting(
            listener,
            plan.handler,
            plan.background,
        ))
    }
}

/// A connection to a neighbour.
#[pyclass(module = "zonda", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct Transport(inner::Transport);

#[pymethods]
impl Transport {
    #[getter]
    fn zid(&self) -> ZenohId {
        ZenohId(*self.0.zid())
    }

    #[getter]
    fn whatami(&self) -> WhatAmI {
        self.0.whatami().into()
    }

    #[getter]
    fn is_qos(&self) -> bool {
        self.0.is_qos()
    }

    #[getter]
    fn is_multicast(&self) -> bool {
        self.0.is_multicast()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A link of a connection.
#[pyclass(module = "zonda", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct Link(inner::Link);

#[pymethods]
impl Link {
    #[getter]
    fn zid(&self) -> ZenohId {
        ZenohId(*self.0.zid())
    }

    #[getter]
    fn src(&self) -> String {
        self.0.src().to_string()
    }

    #[getter]
    fn dst(&self) -> String {
        self.0.dst().to_string()
    }

    #[getter]
    fn group(&self) -> Option<String> {
        None
    }

    #[getter]
    fn mtu(&self) -> u16 {
        self.0.mtu()
    }

    #[getter]
    fn is_streamed(&self) -> bool {
        self.0.is_streamed()
    }

    #[getter]
    fn interfaces(&self) -> Vec<String> {
        Vec::new()
    }

    #[getter]
    fn auth_identifier(&self) -> Option<String> {
        None
    }

    #[getter]
    fn priorities(&self) -> Option<(u8, u8)> {
        self.0.priorities()
    }

    #[getter]
    fn reliability(&self) -> Option<Reliability> {
        self.0.reliability().map(Into::into)
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A connection that opens (PUT) or closes (DELETE).
#[pyclass(module = "zonda", frozen)]
pub struct TransportEvent(inner::TransportEvent);

impl Value for inner::TransportEvent {
    const NAME: &'static str = "TransportEvent";

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, TransportEvent(self))?.into_any())
    }
}

#[pymethods]
impl TransportEvent {
    #[getter]
    fn kind(&self) -> SampleKind {
        self.0.kind().into()
    }

    #[getter]
    fn transport(&self) -> Transport {
        Transport(self.0.transport().clone())
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// A link that opens (PUT) or closes (DELETE).
#[pyclass(module = "zonda", frozen)]
pub struct LinkEvent(inner::LinkEvent);

impl Value for inner::LinkEvent {
    const NAME: &'static str = "LinkEvent";

    fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, LinkEvent(self))?.into_any())
    }
}

#[pymethods]
impl LinkEvent {
    #[getter]
    fn kind(&self) -> SampleKind {
        self.0.kind().into()
    }

    #[getter]
    fn link(&self) -> Link {
        Link(self.0.link().clone())
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

entity! {
    /// A listener to connections.
    "zonda" TransportEventsListener: inner::EventsListener<()>, undeclare {}
}
entity! {
    /// A listener to links.
    "zonda" LinkEventsListener: inner::EventsListener<()>, undeclare {}
}
