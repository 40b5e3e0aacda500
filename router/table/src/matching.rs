// SPDX-License-Identifier: MIT OR Apache-2.0

//! Matching state of the session's publishers and queriers: whether a counterpart exists, and
//! listeners that are notified of each change.
//!
//! A listener begins with "no counterpart", is notified at once if one exists, and then of every
//! change, so it never gets the same state twice in a row. Neighbours that are gone count until
//! their declarations are removed, a moment later.
//!
//! The destinations of a publisher or querier (the session itself, other nodes, or both) are
//! compared with declarations here, and when a route is built or a query is sent; never for a
//! message on a known route.

use std::sync::Arc;

use zonda_codec::{KeyExpr, key_expr};

use crate::{
    audience::{Audience, Counterpart, Reach},
    entity::Change,
    face::Face,
    face_id::{Action, FaceId, OwnRef},
    forwarding::ForwardingTable,
    kind::Kind,
    listeners::{Listener, Topic, notify},
    notice::Notice,
};

impl ForwardingTable {
    /// Returns true if any declaration of `audience`, here or elsewhere, would now be reached from
    /// `from` on `key`. Only entities that were declared count, although [`route`](Self::route)
    /// includes neighbours that have not declared all they have.
    pub fn has_counterpart(&self, from: FaceId, key: &str, audience: Audience) -> bool {
        let what = audience.what;
        let Some(source) = self.face(from) else {
            return false;
        };
        // Entities that only the session sees are not in the tree.
        if self.topology.is_session(source) && self.has_private(key, audience) {
            return true;
        }
        // Any other counterpart has a source that a way leads to and that the destination allows.
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
                            && self.counts(face, key, entity, audience)
                    })
            });
            reached
                && (!complete
                    || entities.write_key(entity, &mut text) && key_expr::includes(&text, key))
        })
    }

    /// Returns true if the declaration of `entity` by `face` is a counterpart for messages of the
    /// session on `key` to `destination`.
    pub(super) fn counts(
        &self,
        face: &Face,
        key: &str,
        entity: u32,
        Audience { what, destination }: Audience,
    ) -> bool {
        if !self.topology.is_session(face) {
            return destination.is_beyond();
        }
        let kind = what.kind();
        // An entity that stands for several may have a wider key than any of them.
        if kind == Kind::Subscriber && self.aggregation.has_subscribers() {
            let session = &self.entities.session;
            return !session
                .matching(kind, key, Some(destination), false)
                .is_empty();
        }
        if destination == Reach::ANY && !self.entities.session.has_particular() {
            return true;
        }
        let key = self.entities(kind).key(entity);
        let complete = what == Counterpart::CompleteQueryables;
        let session = &self.entities.session;
        key.is_some_and(|key| session.serves(kind, &key, destination, complete))
    }

    /// Returns true if the session of this destination has an entity for itself only that is a
    /// counterpart on `key`.
    fn has_private(&self, key: &str, Audience { what, destination }: Audience) -> bool {
        let complete_only = what == Counterpart::CompleteQueryables;
        let mut has = false;
        let session = &self.entities.session;
        session.each_private(what.kind(), key, destination, &mut |_, complete| {
            has |= complete || !complete_only;
        });
        has
    }

    /// Declares a listener of the session to the existence of any of `audience` on `key`. `owner`
    /// is its publisher or querier, with which the listener ends; `id` is the session's, unique
    /// among its listeners of all kinds.
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

    /// Updates the listeners that a change of an entity of a kind on `key` may concern; `change`
    /// has the change of its sources, if they changed.
    pub(super) fn rematch(
        &mut self,
        kind: Kind,
        key: &str,
        change: Option<Change>,
        actions: &mut Vec<Action>,
    ) {
        let may_change = |listener: &Listener| match (&listener.topic, change) {
            // One more source cannot end a match, and one less cannot begin one.
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

    /// Updates all listeners after ways have changed or new routers were reached.
    pub(super) fn rematch_all(&mut self, actions: &mut Vec<Action>) {
        let is_matching = |listener: &Listener| matches!(listener.topic, Topic::Matching { .. });
        for id in self.listeners.ids(is_matching) {
            self.look_again(id, actions);
        }
    }

    /// Notifies a listener if its state has changed.
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
