// SPDX-License-Identifier: MIT OR Apache-2.0

//! A route with filters.

use std::sync::Arc;

use zonda_codec::{Push, PushBody, Qos, Reliability};

use crate::{
    config::MessageKind,
    flow::route::{Hop, Route},
    model::{Publication, SampleKind},
};

use super::{
    bound::{Bound, decide},
    contract::MessageView,
};

/// A route with the filters of its source and its hops.
pub(crate) struct FilteredRoute {
    /// The route without filters.
    route: Arc<Route>,
    /// Filters of messages from the source.
    ingress: Bound,
    /// Filters of messages to each neighbour on the route.
    egress: Box<[Bound]>,
}

impl FilteredRoute {
    /// Adds the filters to a route; returns the route as an error if there are none.
    pub(crate) fn new(route: Route, ingress: Bound, egress: Box<[Bound]>) -> Result<Self, Route> {
        if ingress.is_none() && egress.iter().all(Option::is_none) {
            return Err(route);
        }
        let route = Arc::new(route);
        Ok(FilteredRoute {
            route,
            ingress,
            egress,
        })
    }

    /// The route without filters.
    pub(crate) fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// Approximate memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.route.memory() + size_of::<Self>() + 64 * (self.egress.len() + 1)
    }

    /// Returns the message behind the filters of its source; `None` if they drop it.
    pub(crate) fn enter(&self, message: MessageView) -> Option<MessageView> {
        let qos = decide(&self.ingress, message)?;
        Some(MessageView { qos, ..message })
    }

    /// Returns the neighbours whose filters let a message pass that [entered](Self::enter), each
    /// with the QoS of the message there. Each neighbour's filters decide as it is yielded.
    pub(crate) fn hops(&self, message: MessageView) -> impl Iterator<Item = (&Hop, Qos)> {
        let hops = self.route.remote.iter().zip(&self.egress);
        hops.filter_map(move |(hop, bound)| Some((hop, decide(bound, message)?)))
    }

    /// Writes the QoS of a message at each neighbour to `passed`, `None` where it does not pass.
    pub(crate) fn decide_all(&self, message: MessageView, passed: &mut Vec<Option<Qos>>) {
        passed.clear();
        let entered = self.enter(message);
        let at = |bound| decide(bound, entered?);
        passed.extend(self.egress.iter().map(at));
    }
}

/// Returns the filters' view of a data message.
pub(crate) fn view_of(push: &Push<'_>, reliability: Reliability) -> MessageView {
    let (kind, payload, attachment) = match &push.body {
        PushBody::Put(put) => (MessageKind::Put, put.payload.len(), put.attachment),
        PushBody::Del(del) => (MessageKind::Delete, 0, del.attachment),
    };
    MessageView {
        kind,
        payload,
        attachment: attachment.map_or(0, <[u8]>::len),
        qos: push.qos,
        reliability,
    }
}

impl From<&Publication<'_>> for MessageView {
    fn from(publication: &Publication<'_>) -> MessageView {
        let (kind, payload) = match publication.kind {
            SampleKind::Put => (MessageKind::Put, publication.payload.size()),
            SampleKind::Delete => (MessageKind::Delete, 0),
        };
        MessageView {
            kind,
            payload,
            attachment: publication.attachment.map_or(0, <[u8]>::len),
            qos: publication.qos,
            reliability: publication.reliability,
        }
    }
}
