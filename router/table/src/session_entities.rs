// SPDX-License-Identifier: MIT OR Apache-2.0

//! Subscribers and queryables of the node's own sessions, one by one: the entities of the table have
//! one face as a source for all of them.
//!
//! Some are not for all messages: session-local ones, which are not declared to other nodes and
//! sessions, and remote-only ones, which messages of their own session do not reach.

use std::collections::HashMap;
use std::sync::Arc;

use zonda_codec::{QueryableInfo, key_expr};

use crate::{
    audience::{Locality, Reach, SessionNumber},
    key_tree::KeyTree,
    kind::{Kind, PerKind},
};

/// Declaration of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    /// Its kind.
    pub kind: Kind,
    /// Of a queryable: true if it has all data under its key.
    pub complete: bool,
    /// Its session, and the sources whose messages it gets.
    pub origin: Reach,
}

impl Own {
    /// Subscriber for data from everywhere.
    pub const SUBSCRIBER: Own = Own {
        kind: Kind::Subscriber,
        complete: false,
        origin: Reach::ANY,
    };

    /// Liveliness token.
    pub const TOKEN: Own = Own {
        kind: Kind::Token,
        ..Own::SUBSCRIBER
    };

    /// Returns a queryable for queries from everywhere.
    pub const fn queryable(complete: bool) -> Own {
        Own {
            kind: Kind::Queryable,
            complete,
            origin: Reach::ANY,
        }
    }

    /// Returns true if other nodes reach it and some session of this node may not, or if it is not
    /// of the session that opened the node.
    pub(super) fn is_particular(&self) -> bool {
        self.origin.locality == Locality::Remote || self.origin.session != SessionNumber(0)
    }
}

/// Subscriber or queryable of a session.
#[derive(Debug)]
pub(super) struct OwnEntity {
    pub(super) what: Own,
    pub(super) key: Arc<str>,
}

/// Subscribers and queryables of the sessions, by their ids and keys.
#[derive(Debug, Default)]
pub(super) struct SessionEntities {
    by_id: PerKind<HashMap<u32, OwnEntity>>,
    /// Entities that other nodes know.
    shared: PerKind<KeyTree<u32>>,
    /// Entities that only their own session reaches.
    private: PerKind<KeyTree<u32>>,
    /// Number of entities that other nodes reach and some session of this node does not, or that
    /// are not of the session that opened the node.
    particular: usize,
}

impl SessionEntities {
    /// Returns the cost of all searches so far.
    pub(super) fn steps(&self) -> u64 {
        self.shared.values().map(KeyTree::steps).sum()
    }

    pub(super) fn get(&self, kind: Kind, id: u32) -> Option<&OwnEntity> {
        self.by_id.of(kind).get(&id)
    }

    /// Returns true if a subscriber or queryable of the session has this id.
    pub(super) fn has_id(&self, id: u32) -> bool {
        let mut kinds = Kind::ALL.into_iter();
        kinds.any(|kind| self.get(kind, id).is_some())
    }

    /// Inserts an entity under an id that is unused in its kind.
    pub(super) fn insert(&mut self, id: u32, own: OwnEntity) {
        self.tree_mut(own.what).insert(&own.key, id);
        self.particular += usize::from(own.what.is_particular());
        self.by_id.of_mut(own.what.kind).insert(id, own);
    }

    pub(super) fn remove(&mut self, kind: Kind, id: u32) -> Option<OwnEntity> {
        let own = self.by_id.of_mut(kind).remove(&id)?;
        self.tree_mut(own.what).remove(&own.key, id);
        self.particular -= usize::from(own.what.is_particular());
        Some(own)
    }

    /// Returns the joint promise of the session's entities of a kind on `key` to other nodes.
    pub(super) fn info(&self, kind: Kind, key: &str) -> QueryableInfo {
        let mut ids = self.shared.of(kind).get(key).iter();
        QueryableInfo {
            complete: ids.any(|id| self.is_complete(kind, *id)),
            distance: 0,
        }
    }

    /// Returns the ids of entities on keys that intersect `key`, in order: for a message of another
    /// node, or of a session of this node to `destination`. With `complete_only`, only the complete
    /// ones.
    pub(super) fn matching(
        &self,
        kind: Kind,
        key: &str,
        destination: Option<Reach>,
        complete_only: bool,
    ) -> Vec<u32> {
        let mut ids = Vec::new();
        self.shared.of(kind).matches(key, &mut |id| {
            let is_meant = destination.is_none_or(|to| self.is_met(kind, id, to));
            if is_meant && (!complete_only || self.is_complete(kind, id)) {
                ids.push(id);
            }
        });
        if let Some(destination) = destination {
            self.each_private(kind, key, destination, &mut |id, is_complete| {
                if is_complete || !complete_only {
                    ids.push(id);
                }
            });
        }
        ids.sort_unstable();
        ids
    }

    /// Returns true if a message of a session to `destination` reaches any entity on exactly `key`
    /// that other nodes know.
    pub(super) fn serves(
        &self,
        kind: Kind,
        key: &str,
        destination: Reach,
        complete_only: bool,
    ) -> bool {
        let mut ids = self.shared.of(kind).get(key).iter();
        ids.any(|id| {
            self.is_met(kind, *id, destination) && (!complete_only || self.is_complete(kind, *id))
        })
    }

    /// Returns true if there may be an entity that some session of this node does not reach.
    pub(super) fn has_particular(&self) -> bool {
        self.particular > 0
    }

    /// Returns the subscribers and queryables of a session.
    pub(super) fn of_session(&self, session: SessionNumber) -> Vec<(Kind, u32)> {
        let of_kind = |kind| {
            self.by_id
                .of(kind)
                .iter()
                .map(move |(id, own)| (kind, *id, own))
        };
        let all = Kind::ALL.into_iter().flat_map(of_kind);
        all.filter(|(_, _, own)| own.what.origin.session == session)
            .map(|(kind, id, _)| (kind, id))
            .collect()
    }

    /// Calls `found` with the entities on keys that intersect `key` and that only messages within
    /// their session reach, if one to `destination` does; with true for those that are complete for
    /// all of `key`.
    pub(super) fn each_private(
        &self,
        kind: Kind,
        key: &str,
        destination: Reach,
        found: &mut impl FnMut(u32, bool),
    ) {
        let tree = self.private.of(kind);
        if tree.is_empty() || !destination.locality.is_within() {
            return;
        }
        tree.matches(key, &mut |id| {
            if let Some(own) = self.get(kind, id)
                && destination.meets(own.what.origin)
            {
                let is_complete = own.what.complete && key_expr::includes(&own.key, key);
                found(id, is_complete);
            }
        });
    }

    /// Removes all entities, as the sessions are gone.
    pub(super) fn clear(&mut self) {
        let gone = std::mem::take(self);
        for kind in Kind::ALL {
            self.shared.of(kind).count(gone.shared.of(kind).steps());
        }
    }

    fn tree_mut(&mut self, what: Own) -> &mut KeyTree<u32> {
        let trees = match what.origin.locality.is_beyond() {
            true => &mut self.shared,
            false => &mut self.private,
        };
        trees.of_mut(what.kind)
    }

    fn is_complete(&self, kind: Kind, id: u32) -> bool {
        self.get(kind, id).is_some_and(|own| own.what.complete)
    }

    /// Returns true if a message of a session to `destination` reaches this entity.
    fn is_met(&self, kind: Kind, id: u32, destination: Reach) -> bool {
        if destination == Reach::ANY && !self.has_particular() {
            return true;
        }
        self.get(kind, id)
            .is_some_and(|own| destination.meets(own.what.origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_reaches_those_that_are_for_its_source() {
        let mut own = SessionEntities::default();
        let kind = Kind::Queryable;
        let mut add = |id, key: &str, complete, origin| {
            let what = Own {
                kind,
                complete,
                origin: Reach::from(origin),
            };
            let key = key.into();
            own.insert(id, OwnEntity { what, key });
        };
        add(1, "a", false, Locality::Any);
        add(2, "a/**", true, Locality::Remote);
        add(3, "*", true, Locality::SessionLocal);
        let any = Some(Reach::ANY);
        assert_eq!(own.matching(kind, "a", any, false), [1, 3]);
        assert_eq!(own.matching(kind, "a", None, false), [1, 2]);
        assert_eq!(own.matching(kind, "a", any, true), [3]);
        assert_eq!(own.matching(kind, "a", None, true), [2]);
        let second = SessionNumber(1);
        let from_second = |locality| {
            Some(Reach {
                session: second,
                locality,
            })
        };
        assert_eq!(
            own.matching(kind, "a", from_second(Locality::Any), false),
            [1, 2]
        );
        let within = from_second(Locality::SessionLocal);
        assert_eq!(own.matching(kind, "a", within, false), [0; 0]);
        assert_eq!(own.of_session(second), []);
        assert!(own.info(kind, "a/**").complete && !own.info(kind, "a").complete);
        assert!(!own.serves(kind, "a/**", Reach::ANY, false));
        assert!(own.remove(Kind::Subscriber, 3).is_none());
        assert_eq!(own.remove(kind, 3).expect("it is there").key.as_ref(), "*");
        own.remove(kind, 2);
        assert_eq!(own.matching(kind, "a", None, false), [1]);
        assert!(!own.has_particular() && own.has_id(1) && !own.has_id(2));
    }
}
