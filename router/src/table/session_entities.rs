// SPDX-License-Identifier: MIT OR Apache-2.0

//! Subscribers and queryables of the node's own session, one by one: the entities of the table have
//! only the session as a source.
//!
//! Some are not for all messages: session-local ones, which are not declared to other nodes, and
//! remote-only ones, which messages of the session itself do not reach.

use std::collections::HashMap;
use std::sync::Arc;

use zonda_codec::{QueryableInfo, key_expr};

use crate::table::{
    audience::Locality,
    key_tree::KeyTree,
    kind::{Kind, PerKind},
};

/// Declaration of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Own {
    /// Its kind.
    pub kind: Kind,
    /// Of a queryable: true if it has all data under its key.
    pub complete: bool,
    /// Sources whose messages it gets.
    pub origin: Locality,
}

impl Own {
    /// Subscriber for data from everywhere.
    pub const SUBSCRIBER: Own = Own {
        kind: Kind::Subscriber,
        complete: false,
        origin: Locality::Any,
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
            origin: Locality::Any,
        }
    }
}

/// Subscriber or queryable of the session.
#[derive(Debug)]
pub(super) struct OwnEntity {
    pub(super) what: Own,
    pub(super) key: Arc<str>,
}

/// Subscribers and queryables of the session, by their ids and keys.
#[derive(Debug, Default)]
pub(super) struct SessionEntities {
    by_id: PerKind<HashMap<u32, OwnEntity>>,
    /// Entities that other nodes know.
    shared: PerKind<KeyTree<u32>>,
    /// Entities that only the session reaches.
    private: PerKind<KeyTree<u32>>,
    /// Number of entities that other nodes reach and the session itself does not.
    remote_only: usize,
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
        self.remote_only += usize::from(own.what.origin == Locality::Remote);
        self.by_id.of_mut(own.what.kind).insert(id, own);
    }

    pub(super) fn remove(&mut self, kind: Kind, id: u32) -> Option<OwnEntity> {
        let own = self.by_id.of_mut(kind).remove(&id)?;
        self.tree_mut(own.what).remove(&own.key, id);
        self.remote_only -= usize::from(own.what.origin == Locality::Remote);
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

    /// Returns the ids of entities on keys that intersect `key`, in order: for a message of the
    /// session itself, or of another node. With `complete_only`, only the complete ones.
    pub(super) fn matching(
        &self,
        kind: Kind,
        key: &str,
        is_own: bool,
        complete_only: bool,
    ) -> Vec<u32> {
        let mut ids = Vec::new();
        self.shared.of(kind).matches(key, &mut |id| {
            let is_meant = !is_own || self.is_for_session(kind, id);
            if is_meant && (!complete_only || self.is_complete(kind, id)) {
                ids.push(id);
            }
        });
        if is_own {
            self.each_private(kind, key, &mut |id, is_complete| {
                if is_complete || !complete_only {
                    ids.push(id);
                }
            });
        }
        ids.sort_unstable();
        ids
    }

    /// Returns true if the session itself reaches any entity on exactly `key` that other nodes know.
    pub(super) fn serves_session(&self, kind: Kind, key: &str, complete_only: bool) -> bool {
        let mut ids = self.shared.of(kind).get(key).iter();
        ids.any(|id| {
            self.is_for_session(kind, *id) && (!complete_only || self.is_complete(kind, *id))
        })
    }

    /// Returns true if there is an entity that the session itself does not reach.
    pub(super) fn has_remote_only(&self) -> bool {
        self.remote_only > 0
    }

    /// Calls `found` with the entities on keys that intersect `key` and only the session reaches;
    /// with true for those that are complete for all of `key`.
    pub(super) fn each_private(&self, kind: Kind, key: &str, found: &mut impl FnMut(u32, bool)) {
        let tree = self.private.of(kind);
        if tree.is_empty() {
            return;
        }
        tree.matches(key, &mut |id| {
            if let Some(own) = self.get(kind, id) {
                let is_complete = own.what.complete && key_expr::includes(&own.key, key);
                found(id, is_complete);
            }
        });
    }

    /// Removes all entities, as the session is gone.
    pub(super) fn clear(&mut self) {
        let gone = std::mem::take(self);
        for kind in Kind::ALL {
            self.shared.of(kind).count(gone.shared.of(kind).steps());
        }
    }

    fn tree_mut(&mut self, what: Own) -> &mut KeyTree<u32> {
        let trees = match what.origin.is_beyond() {
            true => &mut self.shared,
            false => &mut self.private,
        };
        trees.of_mut(what.kind)
    }

    fn is_complete(&self, kind: Kind, id: u32) -> bool {
        self.get(kind, id).is_some_and(|own| own.what.complete)
    }

    fn is_for_session(&self, kind: Kind, id: u32) -> bool {
        let is_remote_only = |own: &OwnEntity| own.what.origin == Locality::Remote;
        !self.has_remote_only() || !self.get(kind, id).is_some_and(is_remote_only)
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
                origin,
            };
            let key = key.into();
            own.insert(id, OwnEntity { what, key });
        };
        add(1, "a", false, Locality::Any);
        add(2, "a/**", true, Locality::Remote);
        add(3, "*", true, Locality::SessionLocal);
        assert_eq!(own.matching(kind, "a", true, false), [1, 3]);
        assert_eq!(own.matching(kind, "a", false, false), [1, 2]);
        assert_eq!(own.matching(kind, "a", true, true), [3]);
        assert_eq!(own.matching(kind, "a", false, true), [2]);
        assert!(own.info(kind, "a/**").complete && !own.info(kind, "a").complete);
        assert!(!own.serves_session(kind, "a/**", false));
        assert!(own.remove(Kind::Subscriber, 3).is_none());
        assert_eq!(own.remove(kind, 3).expect("it is there").key.as_ref(), "*");
        own.remove(kind, 2);
        assert_eq!(own.matching(kind, "a", false, false), [1]);
        assert!(!own.has_remote_only() && own.has_id(1) && !own.has_id(2));
    }
}
