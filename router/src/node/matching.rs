// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether anybody is there for the publishers and queriers of the node's session.

use std::sync::Arc;

use zonda_codec::KeyExpr;

use crate::forwarding::{Counterpart, Locality};

use super::{DeclareError, Listen, ListenerId, listeners::Listener, shared::Shared};

impl Shared {
    /// Whether any node is known now that something of the session on `key` would reach. Nobody in a forked process.
    pub(super) fn has_counterpart(
        &self,
        key: &KeyExpr<'_>,
        sought: (Counterpart, Locality),
    ) -> bool {
        if self.is_forked() {
            return false;
        }
        let state = self.state.lock();
        state
            .table
            .has_counterpart_within(self.local, key.as_str(), sought)
    }

    /// Tells `listen` so, at first and whenever it changes, until the publisher or querier of the id `owner` ends.
    pub(super) fn declare_matching(
        &self,
        owner: u32,
        what: (&KeyExpr<'static>, Counterpart, Locality),
        listen: Arc<dyn Listen>,
    ) -> Result<ListenerId, DeclareError> {
        self.may_declare(what.0)?;
        let id = self.next_id();
        self.update(|state| {
            state.listeners.insert(id, Listener::new(listen));
            state
                .table
                .local_matching_within(self.local, (owner, id), what, &mut state.actions);
        });
        Ok(ListenerId(id))
    }
}
