// SPDX-License-Identifier: MIT OR Apache-2.0

//! Search for a route or for queryables, slice by slice: the searcher releases the state's lock
//! between two slices, so that a message on a key that matches many entities delays only the
//! messages behind it on its own connection.

use std::sync::Arc;

use zonda_codec::{Encode, KeyExpr, NodeId, Priority, Push, Reader, Reliability, ZSlice};
use zonda_transport::{protocol::rx::Context, sync::MutexGuard};

use crate::{
    config::Flow,
    filter::{FilteredRoute, bound},
    flow::{
        read_cycle::ReadCycle,
        route::{Hop, Route},
    },
    node::{shared::Shared, state::State},
    query::inbound::{QueryProgress, take_question},
    table::{FaceId, ForwardingTable, Reach, RouteSearch},
};

/// Route that is being searched for.
pub(crate) struct RouteLookup {
    from: FaceId,
    search: RouteSearch,
}

impl RouteLookup {
    /// Begins a search for messages on `key` from `from`, a neighbour or a publisher of the
    /// session.
    pub(crate) fn new(
        table: &mut ForwardingTable,
        from: FaceId,
        key: KeyExpr<'static>,
        publisher: Option<u32>,
        destination: Reach,
    ) -> Self {
        // each sample has a clone of it
        let key = key.into_cloneable();
        RouteLookup {
            from,
            search: table.begin_route(from, key, publisher).to(destination),
        }
    }
}

impl RouteLookup {
    /// Begins a search for messages on `key` that a neighbour sends with this routing context.
    /// Returns `None` if it names no router.
    pub(crate) fn from_neighbour(
        table: &mut ForwardingTable,
        from: FaceId,
        node_id: NodeId,
        key: KeyExpr<'static>,
    ) -> Option<Self> {
        let key = key.into_cloneable();
        Some(RouteLookup {
            from,
            search: table.begin_route_from(from, node_id, key)?,
        })
    }
}

impl RouteLookup {
    /// Searches for one slice; `None` if the search is not complete.
    pub(crate) fn resume(&mut self, state: &mut State) -> Option<Arc<Route>> {
        let route = state.table.search_route(&mut self.search)?;
        let hop = |hop: crate::table::Hop| {
            let face = state.faces.get(&hop.face)?;
            Some(Hop::new(Arc::clone(&face.outbox), face.status.zid, hop))
        };
        // resolve the table's ids to outboxes and callbacks
        let faces: Vec<_> = route.hops.iter().map(|hop| hop.face).collect();
        let made = Route {
            validity: self.search.validity(),
            key: self.search.key().clone(),
            remote: route.hops.into_iter().filter_map(hop).collect(),
            local: route
                .local
                .iter()
                .filter_map(|id| state.routes.sink(*id).cloned())
                .collect(),
            filtered: None,
        };
        if state.filters.is_empty() {
            return Some(Arc::new(made));
        }
        Some(Arc::new(add_filters(state, self.from, &faces, made)))
    }

    /// Searches to the end on the calling thread, and yields the lock to waiting threads between
    /// two slices.
    pub(crate) fn finish(mut self, state: &mut MutexGuard<'_, State>) -> Arc<Route> {
        loop {
            if let Some(route) = self.resume(state) {
                return route;
            }
            MutexGuard::bump(state);
        }
    }
}

/// Adds the filters of messages from `from` to the route, which leads to `faces`.
#[cold]
fn add_filters(state: &mut State, from: FaceId, faces: &[FaceId], route: Route) -> Route {
    let key = Some(&route.key);
    let ingress = bound(state, from, Flow::Ingress, key);
    let mut egress = Vec::with_capacity(faces.len());
    for &face in faces {
        if state.faces.contains_key(&face) {
            egress.push(bound(state, face, Flow::Egress, key));
        }
    }
    let (validity, key) = (Arc::clone(&route.validity), route.key.clone());
    match FilteredRoute::new(route, ingress, egress.into()) {
        Err(route) => route,
        Ok(filtered) => Route {
            validity,
            key,
            remote: Box::default(),
            local: Box::default(),
            filtered: Some(Box::new(filtered)),
        },
    }
}

/// Query whose queryables are being searched for. Messages that its source sent after it wait.
pub(crate) struct PendingQuery {
    progress: QueryProgress,
    bytes: ZSlice,
    reliability: Reliability,
    priority: Priority,
}

impl PendingQuery {
    pub(crate) fn new(progress: QueryProgress, context: &Context<'_>) -> Self {
        PendingQuery {
            progress,
            bytes: ZSlice::from(context.raw.to_vec()),
            reliability: context.reliability,
            priority: context.priority,
        }
    }

    /// Searches for one slice; returns false if the search is not complete.
    pub(crate) fn take(&mut self, shared: &Shared, face: FaceId, burst: &mut ReadCycle) -> bool {
        let context = Context {
            block: &self.bytes,
            reliability: self.reliability,
            priority: self.priority,
            raw: self.bytes.as_slice(),
        };
        take_question(shared, face, &context, &mut self.progress, burst)
    }
}

/// Data message whose route is being searched for. Messages that its source sent after it wait.
pub(crate) struct PendingMessage {
    looking: Box<RouteLookup>,
    /// Encoded message.
    bytes: ZSlice,
    reliability: Reliability,
    priority: Priority,
}

impl PendingMessage {
    /// Parks a message; `None` if it has no wire form.
    pub(crate) fn new(
        looking: Box<RouteLookup>,
        push: &Push<'_>,
        context: &Context<'_>,
    ) -> Option<Self> {
        Some(PendingMessage {
            looking,
            bytes: ZSlice::from(push.to_vec().ok()?),
            reliability: context.reliability,
            priority: context.priority,
        })
    }

    /// Searches for one slice; `None` if the search is not complete.
    pub(crate) fn resume(&mut self, shared: &Shared) -> Option<Arc<Route>> {
        let mut state = shared.state.lock();
        let route = self.looking.resume(&mut state);
        MutexGuard::unlock_fair(state);
        route
    }

    /// Calls `deliver` with the message.
    pub(crate) fn lend(&self, deliver: impl FnOnce(&Push<'_>, &[u8], &Context<'_>)) {
        let context = Context {
            block: &self.bytes,
            reliability: self.reliability,
            priority: self.priority,
            raw: &[],
        };
        let mut reader = Reader::new(self.bytes.as_slice());
        if let Ok((push, raw_body)) = Push::decode_with_raw(&mut reader) {
            deliver(&push, raw_body, &context);
        }
    }
}
