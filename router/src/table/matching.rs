// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether anybody is there for what the session's publishers and queriers do: the state, and listeners that hear of
//! each change of it.
//!
//! A listener begins with "nobody", hears at once if that is wrong, and then of every change, so never the same twice
//! in a row. Neighbours that are gone count until what they declared is forgotten, a moment later.

use std::collections::HashMap;
use std::sync::Arc;

use zonda_codec::{KeyExpr, Target, key_expr};

use crate::table::{
    Action, FaceId, Notice, OwnRef,
    entity::{Change, EntityRef, Kind},
    forwarding::ForwardingTable,
    key_tree::KeyTree,
    locality::Locality,
};

/// Those that something of the session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counterpart {
    /// Of a publisher: subscribers on keys that intersect its own.
    Subscribers,
    /// Of a querier: queryables on keys that intersect its own.
    Queryables,
    /// Of a querier that asks all complete ones: queryables that are complete, on keys that include its own.
    CompleteQueryables,
}

impl Counterpart {
    /// Those that a query for `target` is for.
    pub const fn of_target(target: Target) -> Counterpart {
        match target {
            Target::AllComplete => Counterpart::CompleteQueryables,
            Target::All | Target::BestMatching => Counterpart::Queryables,
        }
    }

    /// Those of them that are in `destination`.
    pub const fn within(self, destination: Locality) -> Audience {
        Audience {
            what: self,
            destination,
        }
    }

    pub(super) const fn kind(self) -> Kind {
        match self {
            Counterpart::Subscribers => Kind::Subscriber,
            Counterpart::Queryables | Counterpart::CompleteQueryables => Kind::Queryable,
        }
    }
}

/// Those that something of the session is for: what they are, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Audience {
    /// What they are.
    pub what: Counterpart,
    /// Where they are.
    pub destination: Locality,
}

#[derive(Debug)]
struct MatchingListener {
    /// The publisher or querier it belongs to.
    owner: OwnRef,
    key: Arc<str>,
    audience: Audience,
    /// What it heard last.
    last_state: bool,
}

/// The session's listeners, by their ids and keys.
#[derive(Debug, Default)]
pub(super) struct MatchingListeners {
    by_id: HashMap<u32, MatchingListener>,
    tree: KeyTree<u32>,
}

impl MatchingListeners {
    /// The ids of those that `is` holds for, in order.
    fn ids(&self, is: impl Fn(&MatchingListener) -> bool) -> Vec<u32> {
        let those = self.by_id.iter().filter(|(_, listener)| is(listener));
        let mut ids: Vec<u32> = those.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }
}

impl ForwardingTable {
    /// Whether any of `audience` is known, here or elsewhere, that something on `key` from `from` would reach now. Only
    /// those count that were declared, whatever [`route`](Self::route) does while a neighbour has not declared all it has.
    pub fn has_counterpart(&self, from: FaceId, key: &str, audience: Audience) -> bool {
        let Audience { what, destination } = audience;
        let Some(source) = self.face(from) else {
            return false;
        };
        let is_own = self.is_session(source) && destination.is_within();
        if is_own && self.has_private(key, what) {
            return true;
        }
        let complete = what == Counterpart::CompleteQueryables;
        let entities = self.entities(what.kind());
        let mut text = String::new();
        entities.tree.any(key, &mut |entity| {
            let mut sources = entities.sources(entity).iter();
            let reached = sources.any(|declared| {
                let face = self.faces.get(declared.slot);
                (declared.info().complete || !complete)
                    && face.is_some_and(|face| {
                        self.reaches(source, face) && self.counts(face, entity, audience)
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
        self.matching.tree.insert(&key, id);
        let listener = MatchingListener {
            owner,
            key,
            audience,
            last_state: false,
        };
        self.matching.by_id.insert(id, listener);
        self.look_again(id, actions);
    }

    /// The end of a listener. Unknown ids are ignored.
    pub fn undeclare_local_matching(&mut self, face: FaceId, id: u32) {
        let listeners = &mut self.matching;
        let known = listeners.by_id.get(&id);
        if let Some(ended) = known.filter(|known| known.owner.face == face) {
            listeners.tree.remove(&ended.key, id);
            listeners.by_id.remove(&id);
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
            if let Some(ended) = self.matching.by_id.remove(&id) {
                self.matching.tree.remove(&ended.key, id);
            }
            let notice = Notice::End { complete: true };
            actions.push(Action::Notify {
                listener: id,
                notice,
            });
        }
    }

    /// Looks again at what may have changed for the listeners, now that the sources of an entity have.
    pub(super) fn rematch(&mut self, entity: EntityRef, change: Change, actions: &mut Vec<Action>) {
        if self.matching.by_id.is_empty() {
            return;
        }
        let Some(key) = self.entities(entity.kind).key(entity.index) else {
            return;
        };
        let listeners = &self.matching;
        let mut concerned = Vec::new();
        listeners.tree.matches(&key, &mut |id| {
            let Some(listener) = listeners.by_id.get(&id) else {
                return;
            };
            // One more cannot mean nobody, and one less not somebody.
            let may_change = match listener.last_state {
                true => change.after <= change.before,
                false => change.after >= change.before,
            };
            if listener.audience.what.kind() == entity.kind && may_change {
                concerned.push(id);
            }
        });
        concerned.sort_unstable();
        for id in concerned {
            self.look_again(id, actions);
        }
    }

    /// Looks again at what may have changed for the listeners, now that something on `key` has which no source of an
    /// entity shows.
    pub(super) fn rematch_key(&mut self, kind: Kind, key: &str, actions: &mut Vec<Action>) {
        if self.matching.by_id.is_empty() {
            return;
        }
        let mut concerned = Vec::new();
        let found = &mut |id| concerned.push(id);
        self.matching.tree.matches(key, found);
        concerned.retain(|id| {
            let listener = self.matching.by_id.get(id);
            listener.is_some_and(|listener| listener.audience.what.kind() == kind)
        });
        concerned.sort_unstable();
        for id in concerned {
            self.look_again(id, actions);
        }
    }

    /// Tells a listener how it stands if it heard otherwise.
    fn look_again(&mut self, id: u32, actions: &mut Vec<Action>) {
        let Some(listener) = self.matching.by_id.get(&id) else {
            return;
        };
        let (face, audience) = (listener.owner.face, listener.audience);
        let now = self.has_counterpart(face, &listener.key, audience);
        if let Some(listener) = self.matching.by_id.get_mut(&id)
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
