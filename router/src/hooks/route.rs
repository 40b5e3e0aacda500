// SPDX-License-Identifier: MIT OR Apache-2.0

//! A route with checks.

use std::sync::Arc;

use zonda_codec::{Push, PushBody, PushRun, Qos, Reliability};

use crate::{
    config::MessageKind,
    flow::route::{Hop, Route},
    model::{Publication, SampleKind},
};

use super::{MessageView, RouteFilters};

/// A route with the checks of its source and its hops.
pub(crate) struct FilteredRoute {
    /// The route without filters.
    route: Arc<Route>,
    /// Checks of messages from the source.
    ingress: RouteFilters,
    /// Checks of messages to each neighbour on the route.
    egress: Box<[RouteFilters]>,
}

impl FilteredRoute {
    /// Adds the checks to a route; returns the route as an error if there are none.
    pub(crate) fn new(
        route: Route,
        ingress: RouteFilters,
        egress: Box<[RouteFilters]>,
    ) -> Result<Self, Route> {
        if ingress.is_empty() && egress.iter().all(RouteFilters::is_empty) {
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

    /// Splits the route for a message into parts, one for each QoS that it leaves with. The first
    /// part has this node's own subscribers. Dropped messages are counted.
    pub(crate) fn ways_of(&self, seen: MessageView) -> Vec<RoutePart> {
        // The source's checks come first; if all hops pass the message unchanged, the whole route
        // is used.
        let Some(qos) = self.ingress.judge(seen) else {
            return Vec::new();
        };
        let seen = MessageView { qos, ..seen };
        if self.egress.iter().all(|checks| checks.leave(seen)) {
            let route = Arc::clone(&self.route);
            return vec![RoutePart { qos, route }];
        }
        // Hops with the same QoS share a part.
        let mut hops: Vec<(Qos, Vec<Hop>)> = vec![(qos, Vec::new())];
        for (hop, checks) in self.route.remote.iter().zip(&self.egress) {
            let Some(qos) = checks.judge(seen) else {
                continue;
            };
            match hops.iter_mut().find(|(carried, _)| *carried == qos) {
                Some((_, like)) => like.push(hop.clone()),
                None => hops.push((qos, vec![hop.clone()])),
            }
        }
        // Each part becomes a route of its own.
        let each = hops.into_iter().enumerate();
        let way = |(number, (qos, hops)): (usize, (Qos, Vec<Hop>))| RoutePart {
            qos,
            route: Arc::new(Route {
                validity: Arc::clone(&self.route.validity),
                key: self.route.key.clone(),
                remote: hops.into(),
                local: match number {
                    0 => self.route.local.clone(),
                    _ => Box::default(),
                },
                hooked: None,
            }),
        };
        each.map(way).collect()
    }

    /// Returns true if all messages of a run pass everywhere unchanged. Counts nothing.
    pub(crate) fn leaves(&self, first: MessageView, run: &PushRun<'_>) -> bool {
        let is_left = |payload: usize| {
            let seen = MessageView { payload, ..first };
            self.ingress.leave(seen) && self.egress.iter().all(|checks| checks.leave(seen))
        };
        run.clone().all(|again| is_left(again.payload.len()))
    }
}

/// A part of a route.
pub(crate) struct RoutePart {
    /// The QoS of the message on this part.
    pub(crate) qos: Qos,
    pub(crate) route: Arc<Route>,
}

/// Returns the filters' view of a data message.
pub(crate) fn seen(push: &Push<'_>, reliability: Reliability) -> MessageView {
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
