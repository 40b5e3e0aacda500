// SPDX-License-Identifier: MIT OR Apache-2.0

//! The subscribers and queryables of the node's own session, one by one: the entities of the table say only that the session
//! has some on a key.
//!
//! Some are not for everybody: session-local ones, of which no other node hears, and remote-only ones, which the session
//! itself does not reach.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use zonda_codec::{QueryableInfo, key_expr};

use crate::table::{
    key_tree::KeyTree,
    kind::{Kind, PerKind},
};

/// What only the session reaches.
#[derive(Debug)]
struct Private {
    kind: Kind,
    key: Arc<str>,
    complete: bool,
}

/// The session's subscribers and queryables, by their ids.
#[derive(Debug, Default)]
pub(super) struct SessionEntities {
    /// Those that other nodes know.
    shared: PerKind<KeyTree<u32>>,
    /// The complete ones among the queryables that other nodes know.
    complete: HashSet<u32>,
    /// Those among them that the session itself does not reach.
    remote_only: HashSet<u32>,
    /// Those that only the session reaches.
    private: HashMap<u32, Private>,
    private_by_key: PerKind<KeyTree<u32>>,
}

impl SessionEntities {
    /// What all searches so far have cost.
    pub(super) fn steps(&self) -> u64 {
        let kinds = Kind::ALL.map(|kind| self.shared.of(kind).steps());
        kinds.into_iter().sum()
    }

    /// Adds one that other nodes know.
    pub(super) fn add(&mut self, kind: Kind, id: u32, key: &str, complete: bool) {
        self.shared.of_mut(kind).insert(key, id);
        if complete {
            self.complete.insert(id);
        }
    }

    /// Whether this one is on this key.
    pub(super) fn has(&self, kind: Kind, id: u32, key: &str) -> bool {
        self.shared.of(kind).get(key).contains(&id)
    }

    /// Removes one that other nodes knew, but not yet that it was [for them only](Self::set_remote_only).
    pub(super) fn remove(&mut self, kind: Kind, id: u32, key: &str) {
        self.shared.of_mut(kind).remove(key, id);
        if kind == Kind::Queryable {
            self.complete.remove(&id);
        }
    }

    /// What the queryables on `key` promise together to other nodes.
    pub(super) fn info(&self, key: &str) -> QueryableInfo {
        let mut ids = self.shared.of(Kind::Queryable).get(key).iter();
        QueryableInfo {
            complete: ids.any(|id| self.complete.contains(id)),
            distance: 0,
        }
    }

    /// The ids of those on keys that intersect `key`, in order: for a message of the session itself, or of another node. With
    /// `complete_only`, the complete ones.
    pub(super) fn matching(
        &self,
        kind: Kind,
        key: &str,
        is_own: bool,
        complete_only: bool,
    ) -> Vec<u32> {
        let mut ids = Vec::new();
        self.shared.of(kind).matches(key, &mut |id| {
            let is_meant = !is_own || self.is_for_session(id);
            if is_meant && (!complete_only || self.complete.contains(&id)) {
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

    /// Whether any on exactly `key` that other nodes know is reached from within the session.
    pub(super) fn serves_session(&self, kind: Kind, key: &str, complete_only: bool) -> bool {
        let complete = |id| !complete_only || self.complete.contains(id);
        let mut ids = self.shared.of(kind).get(key).iter();
        ids.any(|id| self.is_for_session(*id) && complete(id))
    }

    /// From now on the session does not reach this one of its own, or does again.
    pub(super) fn set_remote_only(&mut self, id: u32, is_remote_only: bool) {
        match is_remote_only {
            true => drop(self.remote_only.insert(id)),
            false => drop(self.remote_only.remove(&id)),
        }
    }

    /// Whether there is any that the session itself does not reach.
    pub(super) fn has_remote_only(&self) -> bool {
        !self.remote_only.is_empty()
    }

    fn is_for_session(&self, id: u32) -> bool {
        self.remote_only.is_empty() || !self.remote_only.contains(&id)
    }

    /// Adds one that only the session reaches.
    pub(super) fn add_private(&mut self, kind: Kind, id: u32, key: Arc<str>, complete: bool) {
        self.private_by_key.of_mut(kind).insert(&key, id);
        let private = Private {
            kind,
            key,
            complete,
        };
        self.private.insert(id, private);
    }

    /// Removes one that only the session reaches, if there is one of this id; gives back its key.
    pub(super) fn remove_private(&mut self, kind: Kind, id: u32) -> Option<Arc<str>> {
        if self.private.get(&id)?.kind != kind {
            return None;
        }
        let private = self.private.remove(&id)?;
        self.private_by_key.of_mut(kind).remove(&private.key, id);
        Some(private.key)
    }

    /// Whether one that only the session reaches has this id.
    pub(super) fn is_private(&self, id: u32) -> bool {
        self.private.contains_key(&id)
    }

    /// Those that only the session reaches on keys that intersect `key`, each with whether it is complete for all of `key`.
    pub(super) fn each_private(&self, kind: Kind, key: &str, found: &mut impl FnMut(u32, bool)) {
        let tree = self.private_by_key.of(kind);
        if tree.is_empty() {
            return;
        }
        tree.matches(key, &mut |id| {
            if let Some(private) = self.private.get(&id) {
                let complete = private.complete && key_expr::includes(&private.key, key);
                found(id, complete);
            }
        });
    }

    /// The session is gone.
    pub(super) fn clear(&mut self) {
        let steps = PerKind::default();
        let shared = std::mem::replace(&mut self.shared, steps);
        *self = SessionEntities::default();
        for kind in Kind::ALL {
            self.shared.of(kind).count(shared.of(kind).steps());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_reaches_those_that_are_for_its_source() {
        let mut own = SessionEntities::default();
        let kind = Kind::Queryable;
        own.add(kind, 1, "a", false);
        own.add(kind, 2, "a/**", true);
        own.set_remote_only(2, true);
        own.add_private(kind, 3, "*".into(), true);
        assert_eq!(own.matching(kind, "a", true, false), [1, 3]);
        assert_eq!(own.matching(kind, "a", false, false), [1, 2]);
        assert_eq!(own.matching(kind, "a", true, true), [3]);
        assert_eq!(own.matching(kind, "a", false, true), [2]);
        assert!(own.info("a/**").complete && !own.info("a").complete);
        assert!(!own.serves_session(kind, "a/**", false));
        assert_eq!(own.remove_private(Kind::Subscriber, 3), None);
        assert_eq!(own.remove_private(kind, 3).as_deref(), Some("*"));
        own.remove(kind, 2, "a/**");
        assert_eq!(own.matching(kind, "a", false, false), [1]);
    }
}
