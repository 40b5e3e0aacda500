// SPDX-License-Identifier: MIT OR Apache-2.0

//! Matching status of the session's publishers and queriers.

use std::sync::Arc;

use zonda_codec::KeyExpr;

use crate::{
    model::DeclareError,
    node::{sessions::NodeSession, shared::Shared, state::State},
    notify::listeners::{Listen, Listener, ListenerId},
    table::Audience,
};

impl Shared {
    /// Returns true if the node knows a counterpart on `key`; false in a forked process.
    pub(crate) fn has_counterpart(&self, key: &KeyExpr<'_>, audience: Audience) -> bool {
        if self.is_forked() {
            return false;
        }
        let state = self.state.lock();
        state
            .table
            .has_counterpart(self.local, key.as_str(), audience)
    }

    /// Notifies `listen` of the current status and of each change, until the publisher or querier
    /// with the id `owner` ends.
    pub(crate) fn declare_matching(
        &self,
        session: &NodeSession,
        owner: u32,
        key: &KeyExpr<'static>,
        audience: Audience,
        listen: Arc<dyn Listen>,
    ) -> Result<ListenerId, DeclareError> {
        self.may_declare(key)?;
        let id = self.next_id();
        let refused = self.update(|state| {
            if session.is_closed() {
                return Some(listen);
            }
            let listener = Listener::new(listen, session.number);
            state.listeners.insert(id, listener);
            let State { table, actions, .. } = state;
            table.local_matching(self.own(owner), id, key, audience, actions);
            None
        });
        match refused {
            None => Ok(ListenerId(id)),
            Some(_) => Err(DeclareError::Closed),
        }
    }
}
