// SPDX-License-Identifier: MIT OR Apache-2.0

//! Looking for where something goes, slice by slice: the state's lock is given back between two slices, so that one message on
//! a key that meets much keeps nobody waiting but those behind it on its own connection.

use std::sync::Arc;

use zonda_codec::{Encode, KeyExpr, Priority, Push, Reader, Reliability, ZSlice};
use zonda_transport::{protocol::rx::Context, sync::MutexGuard};

use crate::{
    flow::{
        burst::Burst,
        route::{Hop, Route},
    },
    node::{shared::Shared, state::State},
    table::{FaceId, ForwardingTable, Locality, QuestionSearch, RouteSearch},
};

/// A route that is being looked for.
pub(crate) struct Looking {
    search: RouteSearch,
    destination: Locality,
}

impl Looking {
    /// For messages on `key` from `from`, be it a neighbour or a publisher of the session.
    pub(crate) fn new(
        table: &mut ForwardingTable,
        from: FaceId,
        key: KeyExpr<'static>,
        publisher: Option<u32>,
        destination: Locality,
    ) -> Self {
        // each sample has a clone of it
        let key = key.into_cloneable();
        Looking {
            search: table.begin_route(from, key, publisher),
            destination,
        }
    }
}

impl Shared {
    /// Goes on for a slice; `None` if there is more to look at.
    pub(crate) fn look_on(&self, state: &mut State, looking: &mut Looking) -> Option<Arc<Route>> {
        let route = state.table.search_route(&mut looking.search)?;
        let route = route.within(looking.destination);
        let hop = |hop: crate::table::Hop| {
            let face = state.faces.get(&hop.face)?;
            Some(Hop::new(Arc::clone(&face.outbox), face.status.zid, hop))
        };
        Some(Arc::new(Route {
            validity: looking.search.validity(),
            key: looking.search.key().clone(),
            remote: route.hops.into_iter().filter_map(hop).collect(),
            local: route
                .local
                .iter()
                .filter_map(|id| state.sinks.get(id).cloned())
                .collect(),
        }))
    }

    /// Looks to the end on the calling thread, and gives the lock to others between two slices.
    pub(crate) fn look_to_end(
        &self,
        state: &mut MutexGuard<'_, State>,
        mut looking: Looking,
    ) -> Arc<Route> {
        loop {
            if let Some(route) = self.look_on(state, &mut looking) {
                return route;
            }
            MutexGuard::bump(state);
        }
    }
}

/// A question for which those to ask are being looked for. What its source sent behind it waits.
pub(crate) struct ParkedQuestion {
    search: QuestionSearch,
    bytes: ZSlice,
    reliability: Reliability,
    priority: Priority,
}

impl ParkedQuestion {
    pub(crate) fn new(search: QuestionSearch, context: &Context<'_>) -> Self {
        ParkedQuestion {
            search,
            bytes: ZSlice::from(context.raw.to_vec()),
            reliability: context.reliability,
            priority: context.priority,
        }
    }

    /// Goes on looking for a slice; false if there is more to look at.
    pub(crate) fn take(&mut self, shared: &Shared, face: FaceId, burst: &mut Burst) -> bool {
        let context = Context {
            block: &self.bytes,
            reliability: self.reliability,
            priority: self.priority,
            raw: self.bytes.as_slice(),
        };
        shared.take_question(face, &context, &mut self.search, burst)
    }
}

/// A data message whose route is being looked for. What its source sent behind it waits.
pub(crate) struct Parked {
    looking: Box<Looking>,
    /// The message, encoded.
    bytes: ZSlice,
    reliability: Reliability,
    priority: Priority,
}

impl Parked {
    /// `None` for a message that has no wire form.
    pub(crate) fn new(
        looking: Box<Looking>,
        push: &Push<'_>,
        context: &Context<'_>,
    ) -> Option<Self> {
        Some(Parked {
            looking,
            bytes: ZSlice::from(push.to_vec().ok()?),
            reliability: context.reliability,
            priority: context.priority,
        })
    }

    /// Goes on looking for a slice; `None` if there is more to look at.
    pub(crate) fn look_on(&mut self, shared: &Shared) -> Option<Arc<Route>> {
        let mut state = shared.state.lock();
        let route = shared.look_on(&mut state, &mut self.looking);
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
