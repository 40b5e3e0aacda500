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
    bound::{Bound, decide, of_kind},
    contract::MessageView,
};

/// A route with the filters of its source and its hops, those of puts and those of deletions.
pub(crate) struct FilteredRoute {
    /// The route without filters.
    route: Arc<Route>,
    puts: Option<Judges>,
    deletions: Option<Judges>,
}

/// Filters of the messages of one kind on a route. At least one of them decides.
struct Judges {
    /// Filters of messages from the source.
    ingress: Bound,
    /// Filters of messages to each neighbour on the route.
    egress: Box<[Bound]>,
}

impl Judges {
    /// Selects the filters of a kind of messages; `None` if all of these messages pass.
    fn of(kind: MessageKind, ingress: &Bound, egress: &[Bound]) -> Option<Judges> {
        let ingress = of_kind(ingress, kind);
        let egress: Box<[_]> = egress.iter().map(|bound| of_kind(bound, kind)).collect();
        let is_any = ingress.is_some() || egress.iter().any(Option::is_some);
        is_any.then_some(Judges { ingress, egress })
    }

    /// Approximate memory in bytes.
    fn memory(&self) -> usize {
        64 * (self.egress.len() + 1)
    }
}

impl FilteredRoute {
    /// Adds the filters to a route; returns the route as an error if none of them is for data.
    pub(crate) fn new(route: Route, ingress: Bound, egress: Box<[Bound]>) -> Result<Self, Route> {
        let of = |kind| Judges::of(kind, &ingress, &egress);
        let (puts, deletions) = (of(MessageKind::Put), of(MessageKind::Delete));
        if puts.is_none() && deletions.is_none() {
            return Err(route);
        }
        Ok(FilteredRoute {
            route: Arc::new(route),
            puts,
            deletions,
        })
    }

    /// The route without filters.
    pub(crate) fn route(&self) -> &Arc<Route> {
        &self.route
    }

    /// Returns the route without filters if all messages of a kind pass them.
    #[inline]
    pub(crate) fn unfiltered(&self, kind: MessageKind) -> Option<&Arc<Route>> {
        self.judges(kind).is_none().then_some(&self.route)
    }

    #[inline]
    fn judges(&self, kind: MessageKind) -> Option<&Judges> {
        match kind {
            MessageKind::Delete => self.deletions.as_ref(),
            _ => self.puts.as_ref(),
        }
    }

    /// Approximate memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        let judges = [&self.puts, &self.deletions].into_iter().flatten();
        let judges: usize = judges.map(Judges::memory).sum();
        self.route.memory() + size_of::<Self>() + judges
    }

    /// Returns the message behind the filters of its source; `None` if they drop it.
    pub(crate) fn enter(&self, message: MessageView) -> Option<MessageView> {
        let Some(judges) = self.judges(message.kind) else {
            return Some(message);
        };
        let qos = decide(&judges.ingress, message)?;
        Some(MessageView { qos, ..message })
    }

    /// Returns the neighbours whose filters let a message pass that [entered](Self::enter), each
    /// with the QoS of the message there. Each neighbour's filters decide as it is yielded.
    pub(crate) fn hops(&self, message: MessageView) -> impl Iterator<Item = (&Hop, Qos)> {
        let judges = self.judges(message.kind);
        let hops = self.route.remote.iter().enumerate();
        hops.filter_map(move |(place, hop)| {
            let qos = match judges {
                None => message.qos,
                Some(judges) => decide(&judges.egress[place], message)?,
            };
            Some((hop, qos))
        })
    }

    /// Writes the QoS of a message at each neighbour to `passed`, `None` where it does not pass.
    pub(crate) fn decide_all(&self, message: MessageView, passed: &mut Vec<Option<Qos>>) {
        passed.clear();
        let entered = self.enter(message);
        let Some(judges) = self.judges(message.kind) else {
            return passed.resize(self.route.remote.len(), Some(message.qos));
        };
        let at = |bound| decide(bound, entered?);
        passed.extend(judges.egress.iter().map(at));
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

impl From<SampleKind> for MessageKind {
    fn from(kind: SampleKind) -> MessageKind {
        match kind {
            SampleKind::Put => MessageKind::Put,
            SampleKind::Delete => MessageKind::Delete,
        }
    }
}

impl From<&Publication<'_>> for MessageView {
    fn from(publication: &Publication<'_>) -> MessageView {
        let payload = match publication.kind {
            SampleKind::Put => publication.payload.size(),
            SampleKind::Delete => 0,
        };
        MessageView {
            kind: publication.kind.into(),
            payload,
            attachment: publication.attachment.map_or(0, <[u8]>::len),
            qos: publication.qos,
            reliability: publication.reliability,
        }
    }
}
