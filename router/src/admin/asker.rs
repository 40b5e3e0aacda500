// SPDX-License-Identifier: MIT OR Apache-2.0
//! Node that sends a query to the admin space, and its rights beyond reading.

use std::{collections::HashMap, sync::Arc};

use zonda_codec::KeyExpr;

use crate::{
    config::{Flow, MessageKind},
    filter::{Message, Neighbourhood, Pass},
};

/// Sender of a query.
pub(crate) struct Asker {
    /// `None` for this node's own session, which may do everything.
    neighbour: Option<Neighbourhood>,
}

impl Asker {
    pub(crate) fn new(neighbour: Option<Neighbourhood>) -> Asker {
        Asker { neighbour }
    }

    /// Returns its name for the log.
    pub(crate) fn name(&self) -> String {
        let zid = self.neighbour.as_ref().map(|found| found.peer.zid);
        zid.map_or_else(|| "this node".into(), |zid| zid.to_string())
    }

    /// Returns the reason for which access control denies a message between it and this node.
    pub(crate) fn denied(
        &self,
        flow: Flow,
        kind: MessageKind,
        key: &KeyExpr<'_>,
    ) -> Option<String> {
        let neighbour = self.neighbour.as_ref()?;
        let effects = neighbour.effects(Message { flow, kind, key });
        let mut denied = effects.into_iter().filter(|effect| effect.is_denied);
        denied.next().map(|effect| effect.text)
    }

    /// Returns the reason for which it would not get the messages on a key as a subscriber.
    pub(crate) fn denied_to_subscribe(&self, key: &KeyExpr<'_>) -> Option<String> {
        self.denied(Flow::Ingress, MessageKind::DeclareSubscriber, key)
            .or_else(|| self.denied(Flow::Egress, MessageKind::Put, key))
    }

    /// Keeps the passes on keys of which it would get a put as a subscriber.
    pub(crate) fn receives(&self, mut passes: Vec<Pass>) -> Vec<Pass> {
        let Some(neighbour) = &self.neighbour else {
            return passes;
        };
        let is_shown = |key: &str| {
            let (flow, kind) = (Flow::Egress, MessageKind::Put);
            let key = KeyExpr::new(key);
            key.is_ok_and(|key| {
                !neighbour.denies(Message {
                    flow,
                    kind,
                    key: &key,
                })
            })
        };
        let mut known: HashMap<Arc<str>, bool> = HashMap::new();
        passes.retain(|pass| {
            let known = known.entry(Arc::clone(&pass.key));
            *known.or_insert_with(|| is_shown(&pass.key))
        });
        passes
    }
}
