// SPDX-License-Identifier: MIT OR Apache-2.0

//! Resolution of routes for publishers, keys and connections, and declaration of the subscribers at
//! their ends.

use std::sync::Arc;

use zonda_codec::KeyExpr;
use zonda_transport::sync::MutexGuard;

use crate::{
    flow::{lookup::RouteLookup, receiving::Sink, route::Route},
    model::{DeclareError, PublishError, SubscriberId},
    node::{
        sessions::NodeSession,
        shared::{KEY_BYTES_MAX, Shared},
        state::State,
    },
    table::{FaceId, Kind, Locality, Own, Reach},
};

impl Shared {
    pub(crate) fn declare_subscriber(
        &self,
        session: &NodeSession,
        key: &KeyExpr<'_>,
        origin: Locality,
        sink: Sink,
    ) -> Result<SubscriberId, DeclareError> {
        self.may_declare(key)?;
        let id = self.next_id();
        // A closed session returns the sink, which must not be dropped under the lock.
        let refused = self.update(|state| {
            if session.is_closed() {
                return Some(sink);
            }
            state.sinks.insert(id, sink);
            let State { table, actions, .. } = state;
            let what = Own {
                origin: session.reach(origin),
                ..Own::SUBSCRIBER
            };
            table.local_declare(self.own(id), what, key, actions);
            None
        });
        match refused {
            None => Ok(SubscriberId(id)),
            Some(_) => Err(DeclareError::Closed),
        }
    }

    pub(crate) fn undeclare_subscriber(&self, id: SubscriberId) {
        if self.is_forked() {
            return;
        }
        let (sink, routes) = self.update(|state| {
            let own = self.own(id.0);
            state
                .table
                .local_undeclare(own, Kind::Subscriber, &mut state.actions);
            (
                state.sinks.remove(&id.0),
                std::mem::take(&mut state.undeclared),
            )
        });
        // user code may run when these are dropped, so no lock is held here
        drop((sink, routes));
    }

    /// Returns the route of messages on `key` from `from`.
    pub(crate) fn resolve(
        &self,
        from: FaceId,
        key: KeyExpr<'static>,
        publisher: Option<u32>,
        destination: Reach,
    ) -> Arc<Route> {
        if self.is_forked() {
            return Arc::new(Route::nowhere(key));
        }
        let mut state = self.state.lock();
        let looking = RouteLookup::new(&mut state.table, from, key, publisher, destination);
        self.look_to_end(&mut state, looking)
    }

    /// Returns the route of a key without a declared publisher, from a bounded cache.
    pub(crate) fn undeclared_route(
        &self,
        session: &NodeSession,
        key: &KeyExpr<'_>,
        destination: Locality,
    ) -> Result<Arc<Route>, PublishError> {
        let destination = session.reach(destination);
        // closed nodes and sessions, and keys that no node accepts
        if self.is_closed() || session.is_closed() {
            return Err(self.cannot_publish());
        }
        let size = key.as_str().len();
        if size > KEY_BYTES_MAX {
            return Err(PublishError::TooLarge {
                size,
                limit: KEY_BYTES_MAX,
            });
        }
        // the cache knows most keys
        let mut state = self.state.lock();
        let known = state.undeclared.to(destination);
        if let Some(route) = known.get(key.as_str()) {
            return Ok(Arc::clone(route));
        }
        self.new_undeclared_route(state, key, destination)
    }

    /// Resolves and inserts the route of a key that the cache does not know.
    #[cold]
    #[inline(never)]
    fn new_undeclared_route(
        &self,
        mut state: MutexGuard<'_, State>,
        key: &KeyExpr<'_>,
        destination: Reach,
    ) -> Result<Arc<Route>, PublishError> {
        state.table.check_key(key)?;
        let (whose, kept) = (self.local, key.clone().into_owned());
        let looking = RouteLookup::new(&mut state.table, whose, kept, None, destination);
        let route = self.look_to_end(&mut state, looking);
        let known = state.undeclared.to(destination);
        let forgotten = known.put(key.as_str(), Arc::clone(&route));
        drop(state);
        // old routes may hold the last reference to a user's closure
        drop(forgotten);
        Ok(route)
    }
}
