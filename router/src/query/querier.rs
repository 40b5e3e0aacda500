// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declared queriers, for which the gateways announce matching queryables.

use std::sync::Arc;

use zonda_codec::{KeyExpr, Target};

use crate::{
    model::DeclareError,
    node::{sessions::NodeSession, shared::Shared, state::State},
    notify::{
        listeners::{Listen, ListenerId},
        matching::{self, Sender},
    },
    table::{Audience, Counterpart, Kind, Locality, Reach},
};

/// A querier of one key. Dropping it undeclares it, without blocking.
pub struct QuerierFace {
    shared: Arc<Shared>,
    id: u32,
    key: KeyExpr<'static>,
    session: Arc<NodeSession>,
    destination: Reach,
}

impl std::fmt::Debug for QuerierFace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuerierFace")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl QuerierFace {
    pub(crate) fn declare(
        shared: &Arc<Shared>,
        session: &Arc<NodeSession>,
        key: &KeyExpr<'_>,
        destination: Locality,
    ) -> Result<Self, DeclareError> {
        if session.is_closed() {
            return Err(DeclareError::Closed);
        }
        let destination = session.reach(destination);
        let id = shared.declare_sending(key, destination, Kind::Queryable)?;
        Ok(Self {
            shared: Arc::clone(shared),
            id,
            key: key.clone().into_owned().into_cloneable(),
            session: Arc::clone(session),
            destination,
        })
    }

    /// The key of the querier.
    #[must_use]
    pub fn key(&self) -> &KeyExpr<'static> {
        &self.key
    }

    /// The id of the querier in its node, unique among all its declarations.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns true if the node knows a queryable that a query for `target` would reach.
    #[must_use]
    pub fn has_matching_queryables(&self, target: Target) -> bool {
        matching::has_counterpart(&self.shared, &self.key, self.audience(target))
    }

    /// Notifies `listener` if the node knows a queryable that a query for `target` would reach, and
    /// of each change from then on. The listener ends with the querier.
    ///
    /// # Errors
    /// The node is closed.
    pub fn declare_matching_listener(
        &self,
        target: Target,
        listener: Arc<dyn Listen>,
    ) -> Result<ListenerId, DeclareError> {
        let audience = self.audience(target);
        let sender = Sender {
            id: self.id,
            key: &self.key,
            audience,
        };
        matching::declare_matching(&self.shared, &self.session, &sender, listener)
    }

    fn audience(&self, target: Target) -> Audience {
        Counterpart::of_target(target).within(self.destination)
    }
}

impl Drop for QuerierFace {
    fn drop(&mut self) {
        let shared = &self.shared;
        if shared.is_forked() {
            return;
        }
        shared.update(|state| {
            let State { table, actions, .. } = state;
            table.undeclare_local_sender(shared.own(self.id), actions);
        });
    }
}
