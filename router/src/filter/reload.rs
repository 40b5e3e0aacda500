// SPDX-License-Identifier: MIT OR Apache-2.0

//! Other filters on a running node. Messages are decided about by the new filters at once. Then the
//! declarations and interests of each neighbour are decided about again, and those that are
//! declared to it, some at a time, so that no message waits long.

use std::sync::Arc;

use zonda_codec::{
    Declaration, Declare, Interest, InterestMode, InterestOptions, KeyExpr, Qos, QueryableInfo,
    WireExpr,
};

use crate::{
    config::Settings,
    node::{shared::Shared, state::State},
    table::{FaceId, InForce, Kind, Relation, TokenInterest},
};

use super::{
    declared::{is_entity_permitted, is_in_data, is_interest_permitted},
    gate::gate_of,
    refused::{RefusedBody, RefusedId, forget, remember},
};

/// Declarations that are decided about while the node is locked once.
const SLICE: usize = 32;

/// Number of neighbours whose declarations could not all be decided about again.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Routers of the mesh.
    pub(crate) routers: usize,
    /// Neighbours that had declared more that was refused than is kept.
    pub(crate) incomplete: usize,
}

/// Replaces the filters by those of other settings.
///
/// # Blocking
/// Takes the node's lock many times.
pub(crate) fn reload_filters(shared: &Shared, settings: &Settings) -> Skipped {
    // The new filters decide from here on; the routes are searched again.
    let faces: Vec<FaceId> = shared.update(|state| {
        state.filters = Arc::new(state.filters.replaced(settings));
        state.table.outdate_routes();
        let State {
            table,
            filters,
            faces,
            ..
        } = state;
        for (id, face) in faces.iter() {
            table.set_gate(*id, gate_of(filters, &face.status));
        }
        faces.keys().copied().collect()
    });
    let mut skipped = Skipped::default();
    for face in faces {
        if shared.state.lock().table.relation(face) == Some(Relation::RouterToRouter) {
            skipped.routers += 1;
            continue;
        }
        decide_again(shared, face);
        let state = shared.state.lock();
        let found = state.faces.get(&face);
        skipped.incomplete += usize::from(found.is_some_and(|f| f.refused.is_incomplete()));
    }
    skipped
}

/// Decides again about the declarations and interests of a neighbour.
fn decide_again(shared: &Shared, face: FaceId) {
    // Refused ones first: those that the filters refuse now would be among them.
    let state = shared.state.lock();
    let refused = state.faces.get(&face).map(|face| face.refused.all());
    let in_force = state.table.in_force(face);
    let interests = state.table.token_interests(face);
    drop(state);
    for some in refused.unwrap_or_default().chunks(SLICE) {
        shared.update(|state| {
            for (id, body) in some {
                permit(state, face, *id, body);
            }
        });
    }
    for some in in_force.chunks(SLICE) {
        shared.update(|state| some.iter().for_each(|one| refuse(state, face, one)));
    }
    for some in interests.chunks(SLICE) {
        shared.update(|state| some.iter().for_each(|one| refuse_tokens(state, face, one)));
    }
}

/// Handles a refused declaration or interest, if the filters let it pass now and the neighbour has
/// not ended it.
fn permit(state: &mut State, face: FaceId, id: RefusedId, body: &RefusedBody) {
    let found = state.faces.get(&face);
    if !found.is_some_and(|face| face.refused.has(id, body)) {
        return;
    }
    // Its memory is charged again as that of a declaration in force.
    match (id, body) {
        (RefusedId::Entity(kind, number), RefusedBody::Entity { key, info }) => {
            let Ok(expr) = KeyExpr::new(&**key) else {
                return;
            };
            if !is_entity_permitted(state, face, kind, &expr, Qos::DECLARE) {
                return;
            }
            forget(state, face, id);
            declare(state, face, declaration(kind, number, key, *info));
        }
        (RefusedId::Interest(number), RefusedBody::Interest { key, mode, options }) => {
            let expr = key.as_ref().and_then(|key| KeyExpr::new(&**key).ok());
            if !is_interest_permitted(state, face, *mode, expr.as_ref(), Qos::DECLARE) {
                return;
            }
            forget(state, face, id);
            // The interest in data that is in force ends with its id.
            let end = Interest::new(number, InterestMode::Final, *options, None);
            take(state, face, &end);
            let wire_expr = key.as_ref().map(|key| WireExpr::full(key));
            take(
                state,
                face,
                &Interest::new(number, *mode, *options, wire_expr),
            );
        }
        // An id and a body of different sorts are never remembered together.
        _ => {}
    }
}

/// Returns the declaration of an entity.
fn declaration(kind: Kind, id: u32, key: &str, info: QueryableInfo) -> Declaration<'_> {
    let wire_expr = WireExpr::full(key);
    match kind {
        Kind::Subscriber => Declaration::Subscriber { id, wire_expr },
        Kind::Token => Declaration::Token { id, wire_expr },
        Kind::Queryable => Declaration::Queryable {
            id,
            wire_expr,
            info,
        },
    }
}

/// Takes back a declaration that the filters refuse now.
fn refuse(state: &mut State, face: FaceId, one: &InForce) {
    let InForce {
        kind,
        id,
        key,
        info,
    } = one;
    let Ok(expr) = KeyExpr::new(key) else {
        return;
    };
    if !state.table.is_in_force(face, one)
        || is_entity_permitted(state, face, *kind, &expr, Qos::DECLARE)
    {
        return;
    }
    let (id, key_of_end) = (*id, None);
    let end = match kind {
        Kind::Subscriber => Declaration::UndeclareSubscriber {
            id,
            key: key_of_end,
        },
        Kind::Queryable => Declaration::UndeclareQueryable {
            id,
            key: key_of_end,
        },
        Kind::Token => Declaration::UndeclareToken {
            id,
            key: key_of_end,
        },
    };
    declare(state, face, end);
    let body = RefusedBody::Entity {
        key: key.as_str().into(),
        info: *info,
    };
    remember(state, face, RefusedId::Entity(*kind, id), body);
}

/// Ends an interest in tokens that the filters refuse now. If it is in data, too, it goes on
/// without the tokens.
fn refuse_tokens(state: &mut State, face: FaceId, one: &TokenInterest) {
    let TokenInterest {
        id,
        options,
        ref key,
        future_only,
    } = *one;
    let mode = match future_only {
        true => InterestMode::Future,
        false => InterestMode::CurrentFuture,
    };
    let expr = key.as_ref().and_then(|key| KeyExpr::new(&**key).ok());
    if !state.table.has_token_interest(face, one)
        || is_interest_permitted(state, face, mode, expr.as_ref(), Qos::DECLARE)
    {
        return;
    }
    let data = options.without(InterestOptions::TOKENS);
    let end = Interest::new(id, InterestMode::Final, options, None);
    take(state, face, &end);
    if is_in_data(data) {
        let wire_expr = key.as_ref().map(|key| WireExpr::full(key));
        take(state, face, &Interest::new(id, mode, data, wire_expr));
    }
    let body = RefusedBody::Interest {
        key: key.as_ref().map(|key| Box::from(&**key)),
        mode,
        options,
    };
    remember(state, face, RefusedId::Interest(id), body);
}

/// Passes a declaration of a neighbour to the table.
fn declare(state: &mut State, face: FaceId, body: Declaration<'_>) {
    let State { table, actions, .. } = state;
    table.handle_declare(face, &Declare::new(body), actions);
}

/// Passes an interest of a neighbour to the table.
fn take(state: &mut State, face: FaceId, interest: &Interest<'_>) {
    let State { table, actions, .. } = state;
    table.handle_interest(face, interest, actions);
}
