// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether anybody is there for what the session's publishers and queriers do: the state, and listeners that hear of
//! each change of it.
//!
//! A listener begins with "nobody", hears at once if that is wrong, and then of every change, so never the same twice
//! in a row. Neighbours that are gone count until what they declared is forgotten, a moment later.

use std::sync::Arc;

use zonda_codec::{KeyExpr, Target, key_expr};

use crate::table::{
    audience::{Audience, Counterpart, Locality},
    entity::Change,
    face_id::{Action, FaceId, OwnRef},
    forwarding::ForwardingTable,
    kind::{EntityRef, Kind},
    matching_listeners::MatchingListener,
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
                        source.reaches(face) && self.counts(face, entity, audience)
                    })
            });
            reached
                && (!complete
                    || entities.write_key(entity, &mut text) && key_expr::includes(&text, key))
        })
    }

    /// Whether any queryable, here or elsewhere, is known that a query for `target` on `key` from `from` would reach.
    pub fn has_matching_queryables(&self, from: FaceId, key: &KeyExpr<'_>, target: Target) -> bool {
        let audience = Counterpart::of_target(target).within(Locality::Any);
        self.has_counterpart(from, key.as_str(), audience)
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
        self.undeclare_local_matching(owner.face, id);
        let key: Arc<str> = Arc::from(key.clone());
        let listener = MatchingListener {
            owner,
            key,
            audience,
            last_state: false,
        };
        self.matching.insert(id, listener);
        self.look_again(id, actions);
    }

    /// The end of a listener. Unknown ids are ignored.
    pub fn undeclare_local_matching(&mut self, face: FaceId, id: u32) {
        let known = self.matching.get(id);
        if known.is_some_and(|known| known.owner.face == face) {
            self.matching.remove(id);
        }
    }

    /// A publisher or querier ends, and its listeners with it.
    pub(super) fn end_matching_of(&mut self, owner: OwnRef, actions: &mut Vec<Action>) {
        self.end_matching(|listener| listener.owner == owner, actions);
    }

    /// Ends the listeners of a session that is gone.
    pub(super) fn forget_matching(&mut self, gone: FaceId, actions: &mut Vec<Action>) {
        self.end_matching(|listener| listener.owner.face == gone, actions);
    }

    fn end_matching(
        &mut self,
        which: impl Fn(&MatchingListener) -> bool,
        actions: &mut Vec<Action>,
    ) {
        for id in self.matching.ids(which) {
            self.matching.remove(id);
            let notice = Notice::End { complete: true };
            actions.push(Action::Notify {
                listener: id,
                notice,
            });
        }
    }

    /// Looks again at what may have changed for the listeners, now that the sources of an entity have.
    pub(super) fn rematch(&mut self, entity: EntityRef, change: Change, actions: &mut Vec<Action>) {
        if self.matching.is_empty() {
            return;
        }
        let Some(key) = self.entities(entity.kind).key(entity.index) else {
            return;
        };
        let concerned = self.matching.on(&key, |listener| {
            // One more cannot mean nobody, and one less not somebody.
            let may_change = match listener.last_state {
                true => change.after <= change.before,
                false => change.after >= change.before,
            };
            listener.audience.what.kind() == entity.kind && may_change
        });
        for id in concerned {
            self.look_again(id, actions);
        }
    }

    /// Looks again at what may have changed for the listeners, now that something on `key` has which no source of an
    /// entity shows.
    pub(super) fn rematch_key(&mut self, kind: Kind, key: &str, actions: &mut Vec<Action>) {
        if self.matching.is_empty() {
            return;
        }
        let is_concerned = |listener: &MatchingListener| listener.audience.what.kind() == kind;
        for id in self.matching.on(key, is_concerned) {
            self.look_again(id, actions);
        }
    }

    /// Tells a listener how it stands if it heard otherwise.
    fn look_again(&mut self, id: u32, actions: &mut Vec<Action>) {
        let Some(listener) = self.matching.get(id) else {
            return;
        };
        let (face, audience) = (listener.owner.face, listener.audience);
        let now = self.has_counterpart(face, &listener.key, audience);
        if let Some(listener) = self.matching.get_mut(id)
            && std::mem::replace(&mut listener.last_state, now) != now
        {
            let notice = Notice::Matching(now);
            actions.push(Action::Notify {
                listener: id,
                notice,
            });
        }
    }
}
