// SPDX-License-Identifier: MIT OR Apache-2.0

//! Matching status of the session's publishers and queriers.

use std::sync::Arc;

use zonda_codec::KeyExpr;

use crate::{
    model::DeclareError,
    node::{sessions::NodeSession, shared::Shared, state::State},
    notify::listeners::{Listen, ListenerId, NoticeListener},
    table::Audience,
};

/// Returns true if the node knows a counterpart on `key`; false in a forked process.
pub(crate) fn has_counterpart(shared: &Shared, key: &KeyExpr<'_>, audience: Audience) -> bool {
    if shared.is_forked() {
        return false;
    }
    let state = shared.state.lock();
    state
        .table
        .has_counterpart(shared.local, key.as_str(), audience)
}

/// Publisher or querier whose counterparts are watched.
pub(crate) struct Sender<'a> {
    pub(crate) id: u32,
    pub(crate) key: &'a KeyExpr<'static>,
    pub(crate) audience: Audience,
}

/// Notifies `listen` of the current status and of each change, until the publisher or querier
/// ends.
pub(crate) fn declare_matching(
    shared: &Shared,
    session: &NodeSession,
    sender: &Sender<'_>,
    listen: Arc<dyn Listen>,
) -> Result<ListenerId, DeclareError> {
    let Sender {
        id: owner,
        key,
        audience,
    } = *sender;
    shared.may_declare(key)?;
    let id = shared.next_id();
    let refused = shared.update(|state| {
        if session.is_closed() {
            return Some(listen);
        }
        let listener = NoticeListener::new(listen, session.number);
        state.notices.add(id, listener);
        let State { table, actions, .. } = state;
        table.local_matching(shared.own(owner), id, key, audience, actions);
        None
    });
    match refused {
        None => Ok(ListenerId(id)),
        Some(_) => Err(DeclareError::Closed),
    }
}
