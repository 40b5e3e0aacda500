// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queryables of this node's own session.

use zonda_codec::KeyExpr;

use crate::{
    model::DeclareError,
    node::{handle::Node, shared::Shared, state::State},
    query::incoming::{QueryableId, SharedQuerySink},
    table::{Kind, Locality, Own},
};

pub(crate) fn declare_queryable(
    node: &Node,
    key: &KeyExpr<'_>,
    complete: bool,
    origin: Locality,
    sink: SharedQuerySink,
) -> Result<QueryableId, DeclareError> {
    let (shared, session) = (&node.shared, &node.session);
    shared.may_declare(key)?;
    let id = shared.next_id();
    // A closed node or session returns the sink, which must not be dropped under the lock.
    let refused = shared.update(|state| {
        if shared.is_closed() || session.is_closed() {
            return Some(sink);
        }
        state.queries.add_queryable(id, sink);
        let State { table, actions, .. } = state;
        let what = Own {
            origin: session.reach(origin),
            ..Own::queryable(complete)
        };
        table.local_declare(shared.own(id), what, key, actions);
        None
    });
    match refused {
        None => Ok(QueryableId(id)),
        Some(_) => Err(DeclareError::Closed),
    }
}

pub(crate) fn undeclare_queryable(shared: &Shared, id: QueryableId) {
    if shared.is_forked() {
        return;
    }
    let sink = shared.update(|state| {
        let State { table, actions, .. } = state;
        table.local_undeclare(shared.own(id.0), Kind::Queryable, actions);
        state.queries.remove_queryable(id.0)
    });
    // Dropping the sink may run user code, so the lock must not be held here.
    drop(sink);
}
