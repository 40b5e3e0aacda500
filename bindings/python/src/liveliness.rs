// SPDX-License-Identifier: MIT OR Apache-2.0

//! Liveliness.

use std::sync::Arc;

use pyo3::prelude::*;
use zonda::Wait;
use zonda::liveliness::LivelinessToken as InnerToken;
use zonda::query::Reply;
use zonda::sample::Sample;

use crate::entity::{Slot, declared, given};
use crate::error::OrRaise;
use crate::gate;
use crate::handlers::{plan, seconds};
use crate::keys::key;
use crate::pubsub::Subscriber;
use crate::query::CancellationToken;
use crate::session::Shared;

/// Liveliness of a session: its tokens, and those of the network.
#[pyclass(module = "zonda", frozen)]
pub struct Liveliness(pub Arc<Shared>);

#[pymethods]
impl Liveliness {
    /// Declares a token, which is alive as long as its object and its session. Raises ZError.
    fn declare_token(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
    ) -> PyResult<LivelinessToken> {
        let key = key(key_expr)?;
        let token =
            gate::detached(py, || self.0.liveliness().declare_token(key).wait()).or_raise()?;
        Ok(LivelinessToken(Slot::new(token)))
    }

    /// Asks for the tokens that are alive. `timeout` is in seconds. Raises ZError.
    #[pyo3(signature = (key_expr, handler=None, *, timeout=None, cancellation_token=None))]
    fn get(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
        handler: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
        cancellation_token: Option<&Bound<'_, CancellationToken>>,
    ) -> PyResult<Py<PyAny>> {
        let key = key(key_expr)?;
        let timeout = timeout.map(seconds).transpose()?;
        let plan = plan::<Reply>(py, handler)?;
        if let Some(token) = cancellation_token {
            token.get().add(plan.finished);
        }
        let cancellation_token = cancellation_token.map(|token| token.get().inner.clone());
        let liveliness = self.0.liveliness();
        let mut get = liveliness.get(key).with(plan.sink);
        given!(get; timeout, cancellation_token);
        gate::detached(py, || get.wait()).or_raise()?;
        Ok(plan.handler)
    }

    /// Subscribes to tokens that come (PUT) and go (DELETE); with `history` also to those that are alive. Raises ZError.
    #[pyo3(signature = (key_expr, handler=None, *, history=None))]
    fn declare_subscriber(
        &self,
        py: Python<'_>,
        key_expr: &Bound<'_, PyAny>,
        handler: Option<&Bound<'_, PyAny>>,
        history: Option<bool>,
    ) -> PyResult<Subscriber> {
        let key = key(key_expr)?;
        let plan = plan::<Sample>(py, handler)?;
        let liveliness = self.0.liveliness();
        let mut builder = liveliness.declare_subscriber(key).with(plan.sink);
        given!(builder; history);
        let mut subscriber = gate::detached(py, || builder.wait()).or_raise()?;
        subscriber.set_background(plan.background);
        Ok(Subscriber::new(subscriber, plan.handler))
    }
}

declared! {
    /// A token of liveliness.
    "zonda" LivelinessToken: InnerToken {}
}
