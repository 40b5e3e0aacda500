// SPDX-License-Identifier: MIT OR Apache-2.0

//! Locality filtering: session-local subscribers and queryables, which no other node hears of, and remote-only ones, which the
//! session itself does not reach; and where what it publishes and asks goes.
//!
//! Everything here is looked at when a route is made or a query is asked, never for a message on a known route.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use zonda_codec::{KeyExpr, key_expr};

use crate::table::{
    Action, FaceKind, OwnRef, Route,
    entity::{Kind, PerKind},
    face::Face,
    forwarding::ForwardingTable,
    key_tree::KeyTree,
    matching::{Audience, Counterpart},
};

/// Which nodes a message passes between, seen from a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Locality {
    /// Within the session only.
    SessionLocal,
    /// Between the session and everybody else, but not within it.
    Remote,
    /// Both.
    #[default]
    Any,
}

impl Locality {
    /// Whether it passes within the session.
    pub const fn is_within(self) -> bool {
        !matches!(self, Locality::Remote)
    }

    /// Whether it passes between the session and others.
    pub const fn is_beyond(self) -> bool {
        !matches!(self, Locality::SessionLocal)
    }
}

/// Something of the session that nobody else hears of.
#[derive(Debug)]
struct Private {
    kind: Kind,
    key: Arc<str>,
    complete: bool,
}

/// The session's subscribers and queryables that are not for everybody, by their ids.
#[derive(Debug, Default)]
pub(super) struct Reserved {
    /// For others only.
    beyond: HashSet<u32>,
    /// For the session only.
    within: HashMap<u32, Private>,
    within_by_key: PerKind<KeyTree<u32>>,
}

impl Reserved {
    /// Whether this one, which others know, is reached from within the session.
    pub(super) fn is_for_session(&self, id: u32) -> bool {
        self.beyond.is_empty() || !self.beyond.contains(&id)
    }

    /// Those for the session only on keys that intersect `key`, each with whether it is complete for all of `key`.
    pub(super) fn private(&self, kind: Kind, key: &str, found: &mut impl FnMut(u32, bool)) {
        let tree = self.within_by_key.of(kind);
        if tree.is_empty() {
            return;
        }
        tree.matches(key, &mut |id| {
            if let Some(private) = self.within.get(&id) {
                let complete = private.complete && key_expr::includes(&private.key, key);
                found(id, complete);
            }
        });
    }

    /// Whether one for the session only has this id.
    pub(super) fn has(&self, id: u32) -> bool {
        self.within.contains_key(&id)
    }

    fn remove_private(&mut self, kind: Kind, id: u32) -> Option<Private> {
        if self.within.get(&id)?.kind != kind {
            return None;
        }
        let private = self.within.remove(&id)?;
        self.within_by_key.of_mut(kind).remove(&private.key, id);
        Some(private)
    }
}

impl Route {
    /// The part of it that goes to `destination`.
    #[must_use]
    pub fn within(mut self, destination: Locality) -> Route {
        if !destination.is_within() {
            self.local.clear();
        }
        if !destination.is_beyond() {
            self.hops.clear();
        }
        self
    }
}

impl ForwardingTable {
    /// As [`local_subscriber`](Self::local_subscriber), for what comes from `origin` only. One that is for the session
    /// only is nobody else's business, and no neighbour hears of it.
    pub fn local_subscriber_from(
        &mut self,
        own: OwnRef,
        key: &KeyExpr<'_>,
        origin: Locality,
        actions: &mut Vec<Action>,
    ) {
        let OwnRef { face, id } = own;
        match origin {
            Locality::Any => self.local_subscriber(face, id, key, actions),
            Locality::Remote => {
                self.undeclare_local_subscriber(face, id, actions);
                self.reserved.beyond.insert(id);
                self.local_subscriber(face, id, key, actions);
            }
            Locality::SessionLocal => {
                self.undeclare_local_subscriber(face, id, actions);
                self.add_private(own, Kind::Subscriber, key, false, actions);
            }
        }
    }

    /// As [`local_queryable`](Self::local_queryable), for queries from `origin` only.
    pub fn local_queryable_from(
        &mut self,
        own: OwnRef,
        key: &KeyExpr<'_>,
        complete: bool,
        origin: Locality,
        actions: &mut Vec<Action>,
    ) {
        let OwnRef { face, id } = own;
        match origin {
            Locality::Any => self.local_queryable(face, id, key, complete, actions),
            Locality::Remote => {
                self.undeclare_local_queryable(face, id, actions);
                self.reserved.beyond.insert(id);
                self.local_queryable(face, id, key, complete, actions);
            }
            Locality::SessionLocal => {
                self.undeclare_local_queryable(face, id, actions);
                self.add_private(own, Kind::Queryable, key, complete, actions);
            }
        }
    }

    fn add_private(
        &mut self,
        OwnRef { face, id }: OwnRef,
        kind: Kind,
        key: &KeyExpr<'_>,
        complete: bool,
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(face, key) {
            return;
        }
        let key: Arc<str> = Arc::from(key.clone());
        self.reserved.within_by_key.of_mut(kind).insert(&key, id);
        let private = Private {
            kind,
            key: Arc::clone(&key),
            complete,
        };
        self.reserved.within.insert(id, private);
        self.outdate(&key);
        self.rematch_key(kind, &key, actions);
    }

    /// The end of something that is for the session only; tells whether `id` was such.
    pub(super) fn end_private(&mut self, kind: Kind, id: u32, actions: &mut Vec<Action>) -> bool {
        let Some(private) = self.reserved.remove_private(kind, id) else {
            return false;
        };
        self.outdate(&private.key);
        self.rematch_key(kind, &private.key, actions);
        true
    }

    /// Something of the session on `key` that others knew has ended, after the table has taken note of it.
    pub(super) fn end_reserved(
        &mut self,
        kind: Kind,
        id: u32,
        key: &str,
        actions: &mut Vec<Action>,
    ) {
        self.rematch_reserved(kind, key, actions);
        self.reserved.beyond.remove(&id);
    }

    /// Looks again at what may have changed for the listeners now that something of the session on `key` has come or gone:
    /// those that are on it may all be for others only, which no count of declarations says.
    pub(super) fn rematch_reserved(&mut self, kind: Kind, key: &str, actions: &mut Vec<Action>) {
        if self.keeps_from_session() {
            self.rematch_key(kind, key, actions);
        }
    }

    /// The session is gone.
    pub(super) fn forget_reserved(&mut self) {
        self.reserved = Reserved::default();
    }

    /// Whether `face` is the session, rather than a neighbour or the admin space.
    pub(super) fn is_session(&self, face: &Face) -> bool {
        face.info.kind == FaceKind::Local && Some(face.id) != self.admin_face
    }

    /// Whether what the session declared on exactly `key`, and others know, is reached from within the session.
    fn serves_session(&self, kind: Kind, key: &str, complete_only: bool) -> bool {
        let ids = match kind {
            Kind::Subscriber => self.local_subscribers.get(key),
            Kind::Queryable => self.local_queryables.get(key),
            Kind::Token => return true,
        };
        let complete = |id| !complete_only || self.complete_queryables.contains(id);
        ids.iter()
            .any(|id| self.reserved.is_for_session(*id) && complete(id))
    }

    /// Whether what `face` declared as `entity` counts for something of the session that goes to `destination`.
    pub(super) fn counts(
        &self,
        face: &Face,
        entity: u32,
        Audience { what, destination }: Audience,
    ) -> bool {
        if !self.is_session(face) {
            return destination.is_beyond();
        }
        if !destination.is_within() || !self.keeps_from_session() {
            return destination.is_within();
        }
        let key = self.entities(what.kind()).key(entity);
        let complete = what == Counterpart::CompleteQueryables;
        key.is_some_and(|key| self.serves_session(what.kind(), &key, complete))
    }

    /// Whether the session has something for itself only that is a counterpart of its own on `key`.
    pub(super) fn has_private(&self, key: &str, what: Counterpart) -> bool {
        let complete_only = what == Counterpart::CompleteQueryables;
        let mut has = false;
        self.reserved.private(what.kind(), key, &mut |_, complete| {
            has |= complete || !complete_only;
        });
        has
    }

    /// Whether anything is kept from the session.
    fn keeps_from_session(&self) -> bool {
        !self.reserved.beyond.is_empty()
    }
}
