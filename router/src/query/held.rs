// SPDX-License-Identifier: MIT OR Apache-2.0

//! Copies of the session's queries that are held until a queryable is known.

use std::time::Duration;

use zonda_codec::{Consolidation, KeyExpr, Payload, Qos, SourceInfo, Target};

use crate::{
    model::Value,
    node::intercept::QueryStack,
    query::{
        outgoing::OutgoingQuery,
        owned::{OwnedEncoding, shared},
    },
    table::Locality,
};

/// A query that waits until a queryable is known.
pub(crate) struct HeldQuery {
    key: KeyExpr<'static>,
    parameters: Box<str>,
    body: Option<(Payload, OwnedEncoding)>,
    attachment: Option<Payload>,
    target: Target,
    consolidation: Consolidation,
    timeout: Duration,
    qos: Qos,
    source_info: Option<SourceInfo>,
    destination: Locality,
    stack: Option<QueryStack>,
}

impl HeldQuery {
    pub(crate) fn of(query: &OutgoingQuery<'_>) -> Self {
        HeldQuery {
            key: query.key.clone().into_owned(),
            parameters: query.parameters.into(),
            body: query
                .body
                .map(|(payload, encoding)| (shared(payload), OwnedEncoding::from(encoding))),
            attachment: query.attachment.map(Payload::from),
            target: query.target,
            consolidation: query.consolidation,
            timeout: query.timeout,
            qos: query.qos,
            source_info: query.source_info,
            destination: query.destination,
            stack: query.stack.cloned(),
        }
    }

    /// Calls `with` with the query of which this is a copy.
    pub(crate) fn lend<T>(&self, with: impl FnOnce(&OutgoingQuery<'_>) -> T) -> T {
        with(&OutgoingQuery {
            key: &self.key,
            parameters: &self.parameters,
            body: self
                .body
                .as_ref()
                .map(|(payload, encoding)| (Value::Shared(payload), encoding.borrowed())),
            attachment: self.attachment.as_ref().map(Payload::as_slice),
            target: self.target,
            consolidation: self.consolidation,
            timeout: self.timeout,
            qos: self.qos,
            source_info: self.source_info,
            destination: self.destination,
            stack: self.stack.as_ref(),
        })
    }
}
