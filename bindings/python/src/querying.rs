// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queryables and queriers.

#![allow(clippy::too_many_arguments)]

use pyo3::prelude::*;
use zonda::Wait;
use zonda::matching::MatchingStatus as InnerStatus;
use zonda::query::{Querier as Inner, Queryable as InnerQueryable, Reply};

use crate::bytes::optional_payload;
use crate::encoding::encoding;
use crate::entity::{declared, entity, given};
use crate::enums::ReplyKeyExpr;
use crate::error::OrRaise;
use crate::gate;
use crate::handlers::plan;
use crate::keys::{KeyExpr, parameters};
use crate::pubsub::{MatchingListener, MatchingStatus};
use crate::query::CancellationToken;
use crate::stack::TimestampInstrumentation;
use crate::time::{EntityGlobalId, SourceInfo};

entity! {
    /// A queryable: it receives queries and replies to them.
    "zonda" Queryable: InnerQueryable<()>, undeclare {
        #[getter]
        fn id(&self) -> PyResult<EntityGlobalId> {
            self.slot.read(|queryable| EntityGlobalId(queryable.id()))
        }

        #[getter]
        fn key_expr(&self) -> PyResult<KeyExpr> {
            self.slot.read(|queryable| KeyExpr(queryable.key_expr().clone()))
        }
    }
}

declared! {
    /// A declared querier: it asks the same key again and again.
    "zonda" Querier: Inner<'static> {
        #[getter]
        fn id(&self) -> PyResult<EntityGlobalId> {
            self.0.read(|querier| EntityGlobalId(querier.id()))
        }

        #[getter]
        fn key_expr(&self) -> PyResult<KeyExpr> {
            self.0.read(|querier| KeyExpr(querier.key_expr().clone()))
        }

        #[getter]
        fn accept_replies(&self) -> PyResult<ReplyKeyExpr> {
            self.0.read(|querier| querier.accept_replies().into())
        }

        /// True if some queryable matches.
        #[getter]
        fn matching_status(&self) -> PyResult<MatchingStatus> {
            let status = self.0.read(|querier| querier.matching_status().wait())?;
            status.or_raise().map(MatchingStatus)
        }

        /// Asks. Returns the handler of the replies: `for reply in querier.get()`, `async for reply in await querier.get()`.
        #[pyo3(signature = (handler=None, *, parameters=None, payload=None, encoding=None, attachment=None, source_info=None, cancellation_token=None, timestamp_instrumentation=None))]
        fn get(
            &self,
            py: Python<'_>,
            handler: Option<&Bound<'_, PyAny>>,
            parameters: Option<&Bound<'_, PyAny>>,
            payload: Option<&Bound<'_, PyAny>>,
            encoding: Option<&Bound<'_, PyAny>>,
            attachment: Option<&Bound<'_, PyAny>>,
            source_info: Option<SourceInfo>,
            cancellation_token: Option<&Bound<'_, CancellationToken>>,
            timestamp_instrumentation: Option<TimestampInstrumentation>,
        ) -> PyResult<Py<PyAny>> {
            let payload = optional_payload(payload)?;
            let attachment = optional_payload(attachment)?;
            let encoding = encoding.map(self::encoding).transpose()?;
            let parameters = parameters.map(self::parameters).transpose()?;
            let source_info = source_info.map(|source| source.0);
            let timestamp_instrumentation = timestamp_instrumentation.map(|points| points.0);
            let plan = plan::<Reply>(py, handler)?;
            if let Some(token) = cancellation_token {
                token.get().add(plan.finished);
            }
            let cancellation_token = cancellation_token.map(|token| token.get().inner.clone());
            self.0.read(|querier| {
                let mut get = querier.get().with(plan.sink);
                given!(get; parameters, payload, encoding, attachment, source_info, cancellation_token, timestamp_instrumentation);
                gate::detached(py, || get.wait()).or_raise()
            })??;
            Ok(plan.handler)
        }

        /// Listens to changes between some and no matching queryable.
        #[pyo3(signature = (handler=None))]
        fn declare_matching_listener(
            &self,
            py: Python<'_>,
            handler: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<MatchingListener> {
            let plan = plan::<InnerStatus>(py, handler)?;
            self.0.read(|querier| {
                let builder = querier.matching_listener().with(plan.sink);
                let mut listener = gate::detached(py, || builder.wait()).or_raise()?;
                listener.set_background(plan.background);
                Ok(MatchingListener::new(listener, plan.handler))
            })?
        }
    }
}
