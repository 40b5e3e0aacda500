// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether anybody is there for what the session's publishers and queriers do: the state, and listeners that hear of
//! each change of it.
//!
//! A listener begins with "nobody", hears at once if that is wrong, and then of every change, so never the same twice
//! in a row. Neighbours that are gone count until what they declared is forgotten, a moment later.
//!
//! Which declarations count for something of the session that goes to the session itself, to other nodes, or to both is
//! looked at here, and when a route is made or a query is sent; never for a message on a known route.

use std::sync::Arc;

use zonda_codec::{KeyExpr, key_expr};

use crate::table::{
    audience::{Audience, Counterpart},
    entity::Change,
    face::Face,
    face_id::{Action, FaceId, OwnRef},
    forwarding::ForwardingTable,
    kind::Kind,
    listeners::{Listener, Topic, notify},
    notice::Notice,
};

impl ForwardingTable {
    /// Whether any of `audience` is known, here or elsewhere, that something on `key` from `from` would reach now. Only
    /// those count that were declared, whatever [`route`](Self::route) does while a neighbour has not declared all it has.
    pub fn has_counterpart(&self, from: FaceId, key: &str, audience: Audience) -> bool {
        let Audience { what, destination } = audience;
        let Some(source) = self.face(from) else {
            return false;
        };
        let is_own = self.topology.is_session(source) && destination.is_within();
        if is_own && self.has_private(key, what) {
            return true;
        }
        let complete = what == Counterpart::CompleteQueryables;
        let entities = self.entities(what.kind());
        let mut text = String::new();
        entities.tree().any(key, &mut |entity| {
            let mut sources = entities.sources(entity).iter();
            let reached = sources.any(|declared| {
                let face = self.topology.at(declared.slot);
                (declared.info().complete || !complete)
                    && face.is_some_and(|face| {
                        self.way(source, None, face).is_some()
                            && self.counts(face, entity, audience)
                    })
            });
            reached
                && (!complete
                    || entities.write_key(entity, &mut text) && key_expr::includes(&text, key))
        })
    }

    /// Whether what `face` declared as `entity` counts for something of the session that goes to `destination`.
    pub(super) fn counts(
        &self,
        face: &Face,
        entity: u32,
        Audience { what, destination }: Audience,
    ) -> bool {
        if !self.topology.is_session(face) {
            return destination.is_beyond();
        }
        if !destination.is_within() || !self.entities.session.has_remote_only() {
            return destination.is_within();
        }
        let key = self.entities(what.kind()).key(entity);
        let complete = what == Counterpart::CompleteQueryables;
        let session = &self.entities.session;
        key.is_some_and(|key| session.serves_session(what.kind(), &key, complete))
    }

    /// Whether the session has something for itself only that is a counterpart of its own on `key`.
    fn has_private(&self, key: &str, what: Counterpart) -> bool {
        let complete_only = what == Counterpart::CompleteQueryables;
        let mut has = false;
        let session = &self.entities.session;
        session.each_private(what.kind(), key, &mut |_, complete| {
            has |= complete || !complete_only;
        });
        has
    }

    /// The session listens to whether any of `audience` matches `key`. `owner` is its publisher or querier, with which the
    /// listener ends; `id` is the session's, unique among its listeners of all kinds.
    pub fn local_matching(
        &mut self,
        owner: OwnRef,
        id: u32,
        key: &KeyExpr<'_>,
        audience: Audience,
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(owner.face, key) {
            return;
        }
        let own = owner.face.own(id);
        self.undeclare_local_listener(own, actions);
        let topic = Topic::Matching {
            owner,
            audience,
            last_state: false,
        };
        self.add_listener(own, Arc::from(key.clone()), topic);
        self.look_again(id, actions);
    }

    /// Looks again at what may have changed for the listeners, now that something of a kind on `key` has; `change` says how
    /// its sources have, if they did.
    pub(super) fn rematch(
        &mut self,
        kind: Kind,
        key: &str,
        change: Option<Change>,
        actions: &mut Vec<Action>,
    ) {
        let may_change = |listener: &Listener| match (&listener.topic, change) {
            // One more cannot mean nobody, and one less not somebody.
            (Topic::Matching { last_state, .. }, Some(change)) => match last_state {
                true => change.after <= change.before,
                false => change.after >= change.before,
            },
            _ => true,
        };
        for id in self.listeners.on(kind, key, may_change) {
            self.look_again(id, actions);
        }
    }

    /// Looks again at all listeners, as ways lead elsewhere or to routers that none led to.
    pub(super) fn rematch_all(&mut self, actions: &mut Vec<Action>) {
        let is_matching = |listener: &Listener| matches!(listener.topic, Topic::Matching { .. });
        for id in self.listeners.ids(is_matching) {
            self.look_again(id, actions);
        }
    }

    /// Tells a listener how it stands if it heard otherwise.
    fn look_again(&mut self, id: u32, actions: &mut Vec<Action>) {
        let Some(listener) = self.listeners.get(id) else {
            return;
        };
        let Topic::Matching { audience, .. } = listener.topic else {
            return;
        };
        let now = self.has_counterpart(listener.face, &listener.key, audience);
        if let Some(listener) = self.listeners.get_mut(id)
            && let Topic::Matching { last_state, .. } = &mut listener.topic
            && std::mem::replace(last_state, now) != now
        {
            notify(id, Notice::Matching(now), actions);
        }
    }
}
