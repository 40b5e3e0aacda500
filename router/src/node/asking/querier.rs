// SPDX-License-Identifier: MIT OR Apache-2.0

//! A declared querier: the gateways are asked who answers on its key.

use std::sync::Arc;

use zonda_codec::{KeyExpr, Target};

use crate::node::{
    DeclareError,
    shared::{Shared, State},
};

/// Asks on one key. Dropping it undeclares it, without blocking.
pub struct QuerierFace {
    shared: Arc<Shared>,
    id: u32,
    key: KeyExpr<'static>,
}

impl std::fmt::Debug for QuerierFace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuerierFace")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl QuerierFace {
    pub(super) fn declare(shared: &Arc<Shared>, key: &KeyExpr<'_>) -> Result<Self, DeclareError> {
        shared.may_declare(key)?;
        let id = shared.next_id();
        let key = key.clone().into_owned().into_cloneable();
        shared.update(|state| {
            let State { table, actions, .. } = state;
            table.local_querier(shared.local, id, &key, actions);
        });
        Ok(Self {
            shared: Arc::clone(shared),
            id,
            key,
        })
    }

    /// The key it asks on.
    #[must_use]
    pub fn key(&self) -> &KeyExpr<'static> {
        &self.key
    }

    /// The id of the querier in its node, unique among all its declarations.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether any queryable is known that a question for `target` would reach.
    #[must_use]
    pub fn has_matching_queryables(&self, target: Target) -> bool {
        if self.shared.is_forked() {
            return false;
        }
        let state = self.shared.state.lock();
        state
            .table
            .has_matching_queryables(self.shared.local, &self.key, target)
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
            table.undeclare_local_querier(shared.local, self.id, actions);
        });
    }
}
