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

pub(crate) fn declare_subscriber(
    shared: &Shared,
    session: &NodeSession,
    key: &KeyExpr<'_>,
    origin: Locality,
    sink: Sink,
) -> Result<SubscriberId, DeclareError> {
    shared.may_declare(key)?;
    let id = shared.next_id();
    // A closed session returns the sink, which must not be dropped under the lock.
    let refused = shared.update(|state| {
        if session.is_closed() {
            return Some(sink);
        }
        state.routes.add_sink(id, sink);
        let State { table, actions, .. } = state;
        let what = Own {
            origin: session.reach(origin),
            ..Own::SUBSCRIBER
        };
        table.local_declare(shared.own(id), what, key, actions);
        None
    });
    match refused {
        None => Ok(SubscriberId(id)),
        Some(_) => Err(DeclareError::Closed),
    }
}

pub(crate) fn undeclare_subscriber(shared: &Shared, id: SubscriberId) {
    if shared.is_forked() {
        return;
    }
    let (sink, routes) = shared.update(|state| {
        let own = shared.own(id.0);
        state
            .table
            .local_undeclare(own, Kind::Subscriber, &mut state.actions);
        (
            state.routes.remove_sink(id.0),
            state.routes.take_undeclared(),
        )
    });
    // user code may run when these are dropped, so no lock is held here
    drop((sink, routes));
}

/// Returns the route of messages on `key` from `from`.
pub(crate) fn resolve(
    shared: &Shared,
    from: FaceId,
    key: KeyExpr<'static>,
    publisher: Option<u32>,
    destination: Reach,
) -> Arc<Route> {
    if shared.is_forked() {
        return Arc::new(Route::nowhere(key));
    }
    let mut state = shared.state.lock();
    let looking = RouteLookup::new(&mut state.table, from, key, publisher, destination);
    looking.finish(&mut state)
}

/// Returns the route of a key without a declared publisher, from a bounded cache.
pub(crate) fn undeclared_route(
    shared: &Shared,
    session: &NodeSession,
    key: &KeyExpr<'_>,
    destination: Locality,
) -> Result<Arc<Route>, PublishError> {
    let destination = session.reach(destination);
    // closed nodes and sessions, and keys that no node accepts
    if shared.is_closed() || session.is_closed() {
        return Err(shared.cannot_publish());
    }
    let size = key.as_str().len();
    if size > KEY_BYTES_MAX {
        return Err(PublishError::TooLarge {
            size,
            limit: KEY_BYTES_MAX,
        });
    }
    // the cache knows most keys
    let mut state = shared.state.lock();
    let known = state.routes.undeclared(destination);
    if let Some(route) = known.get(key.as_str()) {
        return Ok(Arc::clone(route));
    }
    new_undeclared_route(shared, state, key, destination)
}

/// Resolves and inserts the route of a key that the cache does not know.
#[cold]
#[inline(never)]
fn new_undeclared_route(
    shared: &Shared,
    mut state: MutexGuard<'_, State>,
    key: &KeyExpr<'_>,
    destination: Reach,
) -> Result<Arc<Route>, PublishError> {
    state.table.check_key(key)?;
    let (whose, kept) = (shared.local, key.clone().into_owned());
    let looking = RouteLookup::new(&mut state.table, whose, kept, None, destination);
    let route = looking.finish(&mut state);
    let known = state.routes.undeclared(destination);
    let forgotten = known.put(key.as_str(), Arc::clone(&route));
    drop(state);
    // old routes may hold the last reference to a user's closure
    drop(forgotten);
    Ok(route)
}
