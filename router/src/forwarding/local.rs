// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the node's own session declares, by calls instead of messages.

use std::sync::Arc;

use zonda_codec::{KeyExpr, QueryableInfo, WhatAmI};

use super::entity::Kind;
use super::face::Face;
use super::message::WIRE_KEY_MAX;
use super::table::ForwardingTable;
use super::{Action, FaceId, FaceKind};

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
        let new = (id, key.clone().into_owned(), QueryableInfo::default());
        self.add_entity(face, Kind::Subscriber, new, actions);
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
            self.end_reserved(Kind::Subscriber, (id, key), actions);
        }
    }

    /// Whether the session has declared something under this id.
    pub fn uses_id(&self, face: FaceId, id: u32) -> bool {
        let mut kinds = Kind::ALL.into_iter();
        kinds.any(|kind| self.entity_of(face, kind, id).is_some())
            || self.publishers.contains_key(&(face, id))
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
        self.begin_sending(face, id, (Kind::Subscriber, key), actions);
    }

    /// The end of a publisher of the session. Unknown ids are ignored.
    pub fn undeclare_local_publisher(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        self.end_sending(face, id, actions);
    }

    /// A publisher or a querier of the session, whose messages are for those of `kind` on this key.
    pub(super) fn begin_sending(
        &mut self,
        face: FaceId,
        id: u32,
        (kind, key): (Kind, &KeyExpr<'_>),
        actions: &mut Vec<Action>,
    ) {
        if !self.may_declare(face, key) {
            return;
        }
        self.end_sending(face, id, actions);
        // Routers have no gateways, and fellow peers tell all they have unasked.
        if self.role != WhatAmI::Router {
            let wanted = (kind, Arc::from(key.clone()));
            self.add_publisher((face, id), wanted, actions);
        }
    }

    /// The end of a publisher or a querier, and of those who listen to whether it has a counterpart.
    pub(super) fn end_sending(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        self.end_matching_of((face, id), actions);
        self.remove_publisher((face, id), actions);
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
        let mut ended: Vec<_> = publishers.filter(|(face, _)| *face == gone.id).collect();
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
