// SPDX-License-Identifier: MIT OR Apache-2.0

//! A route on which something is checked.

use std::sync::Arc;

use zonda_codec::{Push, PushBody, PushRun, Qos, Reliability};

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

    /// The ways of a message, together a part of the route, each with how the message is carried there. The first one has
    /// this node's own subscribers. Messages that are not let pass are counted.
    pub(crate) fn ways_of(&self, seen: Seen) -> Vec<Way> {
        let Some(qos) = self.ingress.judge(seen) else {
            return Vec::new();
        };
        let seen = Seen { qos, ..seen };
        if self.egress.iter().all(|checks| checks.leave(seen)) {
            let route = Arc::clone(&self.route);
            return vec![Way { qos, route }];
        }
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
        let each = hops.into_iter().enumerate();
        let way = |(number, (qos, hops)): (usize, (Qos, Vec<Hop>))| Way {
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

    /// Whether all messages of a run pass everywhere as they are. Nothing is counted.
    pub(crate) fn leaves(&self, first: Seen, run: &PushRun<'_>) -> bool {
        let is_left = |payload: usize| {
            let seen = Seen { payload, ..first };
            self.ingress.leave(seen) && self.egress.iter().all(|checks| checks.leave(seen))
        };
        run.clone().all(|again| is_left(again.payload.len()))
    }
}

/// A part of a route.
pub(crate) struct Way {
    /// How the message is carried on it.
    pub(crate) qos: Qos,
    pub(crate) route: Arc<Route>,
}

/// A data message as hooks see it.
pub(crate) fn seen(push: &Push<'_>, reliability: Reliability) -> Seen {
    let (kind, payload, attachment) = match &push.body {
        PushBody::Put(put) => (MessageKind::Put, put.payload.len(), put.attachment),
        PushBody::Del(del) => (MessageKind::Delete, 0, del.attachment),
    };
    Seen {
        kind,
        payload,
        attachment: attachment.map_or(0, <[u8]>::len),
        qos: push.qos,
        reliability,
    }
}

impl From<&Publication<'_>> for Seen {
    fn from(publication: &Publication<'_>) -> Seen {
        let (kind, payload) = match publication.kind {
            SampleKind::Put => (MessageKind::Put, publication.payload.size()),
            SampleKind::Delete => (MessageKind::Delete, 0),
        };
        Seen {
            kind,
            payload,
            attachment: publication.attachment.map_or(0, <[u8]>::len),
            qos: publication.qos,
            reliability: publication.reliability,
        }
    }
}
