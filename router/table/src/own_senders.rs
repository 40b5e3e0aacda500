// SPDX-License-Identifier: MIT OR Apache-2.0

//! Publishers and queriers of the node's own sessions, by key: the table sends interests for them to
//! gateways, and lists them for the admin space.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use crate::{
    face_id::{FaceId, OwnRef},
    kind::Kind,
};

/// Kind of the entities that a publisher or querier sends to, and its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SenderKey {
    kind: Kind,
    key: Arc<str>,
}

/// All publishers and queriers of the sessions.
#[derive(Debug, Default)]
pub(super) struct OwnSenders {
    by_ref: HashMap<OwnRef, SenderKey>,
    /// Number of senders on each key.
    by_key: BTreeMap<SenderKey, usize>,
}

impl OwnSenders {
    /// Inserts a sender; a live one with the same id ends.
    pub(super) fn insert(&mut self, own: OwnRef, kind: Kind, key: Arc<str>) {
        self.remove(own);
        let what = SenderKey { kind, key };
        *self.by_key.entry(what.clone()).or_default() += 1;
        self.by_ref.insert(own, what);
    }

    pub(super) fn remove(&mut self, own: OwnRef) {
        let Some(what) = self.by_ref.remove(&own) else {
            return;
        };
        if let Some(count) = self.by_key.get_mut(&what) {
            *count -= 1;
            if *count == 0 {
                self.by_key.remove(&what);
            }
        }
    }

    /// Removes the senders of a session that is gone.
    pub(super) fn remove_face(&mut self, face: FaceId) {
        let all = self.by_ref.keys().copied();
        let gone: Vec<_> = all.filter(|own| own.face == face).collect();
        gone.into_iter().for_each(|own| self.remove(own));
    }

    /// Returns true if there is a sender to entities of a kind on exactly this key.
    pub(super) fn has(&self, kind: Kind, key: &Arc<str>) -> bool {
        let key = Arc::clone(key);
        self.by_key.contains_key(&SenderKey { kind, key })
    }

    /// Returns the keys of the senders to entities of a kind, in order, behind `after`.
    pub(super) fn keys(
        &self,
        kind: Kind,
        after: Option<&Arc<str>>,
    ) -> impl Iterator<Item = &Arc<str>> {
        let begin = match after {
            Some(key) => Bound::Excluded(SenderKey {
                kind,
                key: Arc::clone(key),
            }),
            None => Bound::Included(SenderKey {
                kind,
                key: Arc::from(""),
            }),
        };
        let all = self.by_key.range((begin, Bound::Unbounded));
        let same = all.take_while(move |(what, _)| what.kind == kind);
        same.map(|(what, _)| &what.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_listed_in_order_while_a_sender_has_them() {
        let mut senders = OwnSenders::default();
        let face = |index| FaceId {
            index,
            generation: 0,
        };
        let all = [(1, "b"), (2, "a"), (3, "b")];
        for (id, key) in all {
            senders.insert(face(0).own(id), Kind::Subscriber, key.into());
        }
        senders.insert(face(1).own(1), Kind::Queryable, "a".into());
        let listed = |senders: &OwnSenders, kind, after: Option<&str>| {
            let after = after.map(Arc::from);
            let keys = senders.keys(kind, after.as_ref());
            keys.map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(listed(&senders, Kind::Subscriber, None), ["a", "b"]);
        assert_eq!(listed(&senders, Kind::Subscriber, Some("a")), ["b"]);
        assert_eq!(listed(&senders, Kind::Queryable, None), ["a"]);
        senders.remove(face(0).own(1));
        assert!(senders.has(Kind::Subscriber, &"b".into()));
        senders.remove_face(face(0));
        assert_eq!(listed(&senders, Kind::Subscriber, None), [""; 0]);
        assert!(senders.has(Kind::Queryable, &"a".into()));
    }
}
