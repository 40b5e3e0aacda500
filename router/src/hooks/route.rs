// SPDX-License-Identifier: MIT OR Apache-2.0

//! A route on which something is checked.

use std::sync::Arc;

use zonda_codec::{Push, PushBody, PushRun};

use crate::{
    config::MessageKind,
    flow::route::{Hop, Route},
    model::{Publication, SampleKind},
};

use super::{Checks, Seen};

/// What is checked on a route, and where the messages go that pass.
pub(crate) struct Hooked {
    /// The route as it is without hooks.
    route: Arc<Route>,
    /// Of what comes from the source.
    ingress: Checks,
    /// Of what goes to each neighbour on the route.
    egress: Box<[Checks]>,
}

impl Hooked {
    /// `None` if nothing is checked.
    pub(crate) fn new(route: Route, ingress: Checks, egress: Box<[Checks]>) -> Result<Self, Route> {
        if ingress.is_empty() && egress.iter().all(Checks::is_empty) {
            return Err(route);
        }
        let route = Arc::new(route);
        Ok(Hooked {
            route,
            ingress,
            egress,
        })
    }

    /// The route as it is without hooks.
    pub(crate) fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// Bytes of memory that it holds, about.
    pub(crate) fn memory(&self) -> usize {
        self.route.memory() + size_of::<Self>() + 64 * (self.egress.len() + 1)
    }

    /// The way of a message: all of the route, a part of it, or `None`. What does not pass is counted.
    pub(crate) fn way_of(&self, seen: Seen) -> Option<Arc<Route>> {
        if !self.ingress.judge(seen) {
            return None;
        }
        if self.egress.iter().all(|checks| checks.pass(seen)) {
            return Some(Arc::clone(&self.route));
        }
        let hops = self.route.remote.iter().zip(&self.egress);
        let passing = hops.filter(|(_, checks)| checks.judge(seen));
        let hops = passing.map(|(hop, _)| Hop::clone(hop));
        Some(Arc::new(Route {
            validity: Arc::clone(&self.route.validity),
            key: self.route.key.clone(),
            remote: hops.collect(),
            local: self.route.local.clone(),
            hooked: None,
        }))
    }

    /// Whether all messages of a run pass everywhere. Nothing is counted.
    pub(crate) fn lets_pass(&self, push: &Push<'_>, run: &PushRun<'_>) -> bool {
        let first = seen(push);
        let payload = first.bytes - attachment(push);
        let passes = |bytes: usize| {
            let bytes = first.bytes - payload + bytes;
            let seen = Seen { bytes, ..first };
            self.ingress.pass(seen) && self.egress.iter().all(|checks| checks.pass(seen))
        };
        run.clone().all(|again| passes(again.payload.len()))
    }
}

/// A data message as hooks see it.
pub(crate) fn seen(push: &Push<'_>) -> Seen {
    let (kind, payload) = match &push.body {
        PushBody::Put(put) => (MessageKind::Put, put.payload.len()),
        PushBody::Del(_) => (MessageKind::Delete, 0),
    };
    let bytes = payload + attachment(push);
    Seen { kind, bytes }
}

fn attachment(push: &Push<'_>) -> usize {
    let attachment = match &push.body {
        PushBody::Put(put) => put.attachment,
        PushBody::Del(del) => del.attachment,
    };
    attachment.map_or(0, <[u8]>::len)
}

impl From<&Publication<'_>> for Seen {
    fn from(publication: &Publication<'_>) -> Seen {
        let attachment = publication.attachment.map_or(0, <[u8]>::len);
        let (kind, payload) = match publication.kind {
            SampleKind::Put => (MessageKind::Put, publication.payload.as_slice().len()),
            SampleKind::Delete => (MessageKind::Delete, 0),
        };
        let bytes = payload + attachment;
        Seen { kind, bytes }
    }
}
