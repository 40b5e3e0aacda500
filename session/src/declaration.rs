// SPDX-License-Identifier: MIT OR Apache-2.0

//! The shared part of subscribers and queryables: the entity is declared at its node and entered in
//! its session while this value lives, and is removed from both when it is dropped.

use std::sync::Arc;

use zonda_codec::{EntityGlobalId, KeyExpr};
use zonda_router::node::Node;

use crate::callback_group::Ended;
use crate::calls::{Calls, Declared, Registry};
use crate::handle::Session;

/// The declaration of an entity with a callback; undeclares itself when dropped.
pub(crate) struct Declaration<C> {
    node: Node,
    registry: Arc<Registry<Declared>>,
    declared: Declared,
    key: KeyExpr<'static>,
    calls: Arc<Calls<C>>,
    /// Set if it outlives its owner.
    background: bool,
}

impl<C: Send + Sync + 'static> Declaration<C> {
    /// Enters in the session an entity that its node knows already.
    pub fn enter(
        session: &Session,
        declared: Declared,
        key: KeyExpr<'static>,
        calls: Arc<Calls<C>>,
    ) -> Self {
        let (node, registry) = (session.node().clone(), session.declared().clone());
        registry.insert(declared, calls.clone());
        if node.is_closed() {
            // The close may have ended the registry before this entry was in it.
            calls.end();
        }
        Declaration {
            node,
            registry,
            declared,
            key,
            calls,
            background: false,
        }
    }
}

impl<C> Declaration<C> {
    pub fn key(&self) -> &KeyExpr<'static> {
        &self.key
    }

    pub fn id(&self) -> EntityGlobalId {
        EntityGlobalId {
            zid: self.node.zid(),
            eid: self.declared.number(),
        }
    }

    /// Returns a future that completes when the ended callback is dropped; in a forked process it
    /// completes at once.
    pub fn ended(&self) -> Ended {
        match self.node.is_forked() {
            true => Ended::now(),
            false => self.calls.ended(),
        }
    }

    /// Returns the number of calls that panicked.
    pub fn panics(&self) -> u64 {
        self.calls.panics()
    }

    /// Chooses whether the entity lives as long as its session (true) or as long as this value.
    pub fn set_background(&mut self, background: bool) {
        self.background = background;
    }
}

impl<C> Drop for Declaration<C> {
    fn drop(&mut self) {
        if !self.background && !self.node.is_forked() {
            self.calls.end();
            self.registry.remove(self.declared);
            self.declared.undeclare(&self.node);
        }
    }
}
