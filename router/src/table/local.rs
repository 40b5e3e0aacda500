// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the node's own session declares, by calls instead of messages.

use std::sync::Arc;

use zonda_codec::{KeyExpr, WhatAmI};

use crate::table::{
    Action, FaceId, FaceKind, declare::Declared, entity::Kind, face::Face,
    forwarding::ForwardingTable, message::WIRE_KEY_MAX,
};

/// Something of a session, such as a publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnRef {
    /// The session.
    pub face: FaceId,
    /// The id that the session gives it.
    pub id: u32,
}

impl ForwardingTable {
    /// The session subscribes. `id` is the session's, unique among its live subscribers; a live one with the same id
    /// ends. A key longer than 65535 bytes, which has no form on the wire, is ignored.
    pub fn local_subscriber(
        &mut self,
        face: FaceId,
        id: u32,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(face, key) {
            return;
        }
        if self.local_subscribers.get(key.as_str()).contains(&id) {
            return;
        }
        self.undeclare_local_subscriber(face, id, actions);
        self.local_subscribers.insert(key.as_str(), id);
        let new = Declared::plain(Kind::Subscriber, id);
        self.add_entity(face, new, key.clone().into_owned(), actions);
        // Also where the key has subscribers already, which is no news for anybody else.
        self.outdate(key.as_str());
        self.rematch_reserved(Kind::Subscriber, key.as_str(), actions);
    }

    /// The end of a subscriber of the session. Unknown ids are ignored.
    pub fn undeclare_local_subscriber(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        if !self.is_local(face) || self.end_private(Kind::Subscriber, id, actions) {
            return;
        }
        let Some(entity) = self.entity_of(face, Kind::Subscriber, id) else {
            return;
        };
        let key = self.entities(Kind::Subscriber).key(entity);
        if let Some(key) = &key {
            self.local_subscribers.remove(key, id);
        }
        self.remove_entity(face, Kind::Subscriber, id, actions);
        if let Some(key) = &key {
            self.outdate(key);
            self.end_reserved(Kind::Subscriber, id, key, actions);
        }
    }

    /// Whether the session has declared something under this id.
    pub fn uses_id(&self, face: FaceId, id: u32) -> bool {
        let mut kinds = Kind::ALL.into_iter();
        kinds.any(|kind| self.entity_of(face, kind, id).is_some())
            || self.publishers.contains_key(&OwnRef { face, id })
            || self.reserved.has(id)
    }

    /// The session declares a publisher: the gateways are asked who subscribes to its key. `id` is the session's, unique
    /// among its live publishers; a live one with the same id ends. A key longer than 65535 bytes is ignored.
    pub fn local_publisher(
        &mut self,
        face: FaceId,
        id: u32,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        self.begin_sending(OwnRef { face, id }, Kind::Subscriber, key, actions);
    }

    /// The end of a publisher of the session. Unknown ids are ignored.
    pub fn undeclare_local_publisher(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        self.end_sending(OwnRef { face, id }, actions);
    }

    /// A publisher or a querier of the session, whose messages are for those of `kind` on this key.
    pub(super) fn begin_sending(
        &mut self,
        own: OwnRef,
        kind: Kind,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(own.face, key) {
            return;
        }
        self.end_sending(own, actions);
        // Routers have no gateways, and fellow peers tell all they have unasked.
        if self.role != WhatAmI::Router {
            self.add_publisher(own, kind, Arc::from(key.clone()), actions);
        }
    }

    /// The end of a publisher or a querier, and of those who listen to whether it has a counterpart.
    pub(super) fn end_sending(&mut self, own: OwnRef, actions: &mut Vec<Action>) {
        self.end_matching_of(own, actions);
        self.remove_publisher(own, actions);
    }

    /// Forgets the session behind a face that is gone.
    pub(super) fn forget_local(&mut self, gone: &Face, actions: &mut Vec<Action>) {
        if gone.info.kind != FaceKind::Local {
            return;
        }
        self.forget_reserved();
        self.outdate_all();
        for (id, entity) in gone.declared.of(Kind::Subscriber).iter() {
            if let Some(key) = self.entities(Kind::Subscriber).key(entity) {
                self.local_subscribers.remove(&key, id);
            }
        }
        for (id, entity) in gone.declared.of(Kind::Queryable).iter() {
            self.complete_queryables.remove(&id);
            if let Some(key) = self.entities(Kind::Queryable).key(entity) {
                self.local_queryables.remove(&key, id);
            }
        }
        let publishers = self.publishers.keys().copied();
        let mut ended: Vec<_> = publishers.filter(|own| own.face == gone.id).collect();
        ended.sort_unstable();
        for publisher in ended {
            self.remove_publisher(publisher, actions);
        }
        self.forget_token_listeners(gone.id, actions);
        self.forget_matching(gone.id, actions);
    }

    /// Whether this face is the session's, and the key has a form on the wire.
    pub(super) fn may_declare(&self, face: FaceId, key: &KeyExpr<'_>) -> bool {
        self.is_local(face) && key.as_str().len() <= WIRE_KEY_MAX
    }

    pub(super) fn is_local(&self, face: FaceId) -> bool {
        self.face(face)
            .is_some_and(|face| face.info.kind == FaceKind::Local)
    }
}
