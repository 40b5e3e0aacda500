// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations and interests to a neighbour, which filters decide about before the table sends
//! them.

use std::{
    fmt::{self, Debug, Formatter},
    sync::Arc,
};

use zonda_codec::{KeyExpr, Qos};

use crate::{
    config::{Flow, MessageKind},
    model::LinkStatus,
    table::{Gate, GatedKind, Kind},
};

use super::{
    bind::subject,
    bound::{BoundCache, decide},
    contract::MessageView,
    filters::Filters,
};

/// Filters of the declarations and interests to one neighbour. They know its first link only, as
/// the table decides without the node's state.
struct EgressGate {
    filters: Arc<Filters>,
    peer: LinkStatus,
    bound: BoundCache,
}

/// Returns the gate of a new neighbour; `None` without filters.
pub(crate) fn gate_of(filters: &Arc<Filters>, peer: &LinkStatus) -> Option<Box<dyn Gate>> {
    (!filters.is_empty()).then(|| {
        Box::new(EgressGate {
            filters: Arc::clone(filters),
            peer: peer.clone(),
            bound: BoundCache::default(),
        }) as _
    })
}

impl Debug for EgressGate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut gate = f.debug_struct("EgressGate");
        gate.field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Gate for EgressGate {
    fn permits(&mut self, kind: GatedKind, key: &str) -> bool {
        let kind = match kind {
            GatedKind::Entity(Kind::Subscriber) => MessageKind::DeclareSubscriber,
            GatedKind::Entity(Kind::Queryable) => MessageKind::DeclareQueryable,
            GatedKind::Entity(Kind::Token) => MessageKind::LivelinessToken,
            GatedKind::TokenInterest => MessageKind::DeclareLivelinessSubscriber,
            GatedKind::TokenQuery => MessageKind::LivelinessQuery,
        };
        let view = MessageView::of_control(kind, Qos::DECLARE);
        if let Some(known) = self.bound.get(key) {
            return decide(known, view).is_some();
        }
        // a new key: bind the filters once
        let local = std::iter::once(&self.peer.local);
        let subject = subject(&self.peer, local, self.filters.need_interfaces());
        let expr = KeyExpr::new(key).ok();
        let bound = self.filters.bind(&subject, Flow::Egress, expr.as_ref());
        self.bound.insert(key, bound.clone());
        decide(&bound, view).is_some()
    }
}
