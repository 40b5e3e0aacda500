// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the node's own session declares. Its subscribers, queryables and tokens are entities like those of a neighbour; what
//! only this node knows of them is in [`SessionEntities`](super::session_entities::SessionEntities).

use std::sync::Arc;

use zonda_codec::{KeyExpr, QueryableInfo, WhatAmI};

use crate::table::{
    audience::Locality,
    entity::Declared,
    face::Face,
    face_id::{Action, FaceId, FaceKind, OwnRef},
    forwarding::ForwardingTable,
    kind::{EntityRef, Kind},
    message::WIRE_KEY_MAX,
};

/// A subscriber or queryable of the session.
#[derive(Clone, Copy)]
struct Own {
    kind: Kind,
    complete: bool,
    /// Where the messages come from that are for it.
    origin: Locality,
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
        self.local_subscriber_from(OwnRef { face, id }, key, Locality::Any, actions);
    }

    /// As [`local_subscriber`](Self::local_subscriber), for data from `origin` only.
    pub fn local_subscriber_from(
        &mut self,
        own: OwnRef,
        key: &KeyExpr<'_>,
        origin: Locality,
        actions: &mut Vec<Action>,
    ) {
        let what = Own {
            kind: Kind::Subscriber,
            complete: false,
            origin,
        };
        self.declare_own(own, what, key, actions);
    }

    /// The end of a subscriber of the session. Unknown ids are ignored.
    pub fn undeclare_local_subscriber(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        self.undeclare_own(OwnRef { face, id }, Kind::Subscriber, actions);
    }

    /// The session replies to queries on `key`; if `complete`, it knows everything there is under it. `id` is the
    /// session's, unique among its live queryables; a live one with the same id ends. A key longer than 65535 bytes is
    /// ignored.
    pub fn local_queryable(
        &mut self,
        face: FaceId,
        id: u32,
        key: &KeyExpr<'_>,
        complete: bool,
        actions: &mut Vec<Action>,
    ) {
        let own = OwnRef { face, id };
        self.local_queryable_from(own, key, complete, Locality::Any, actions);
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
        let what = Own {
            kind: Kind::Queryable,
            complete,
            origin,
        };
        self.declare_own(own, what, key, actions);
    }

    /// The end of a queryable of the session. Unknown ids are ignored.
    pub fn undeclare_local_queryable(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        self.undeclare_own(OwnRef { face, id }, Kind::Queryable, actions);
    }

    fn declare_own(
        &mut self,
        own: OwnRef,
        what: Own,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        let (OwnRef { face, id }, text) = (own, key.as_str());
        let Own {
            kind,
            complete,
            origin,
        } = what;
        if !self.may_declare(face, key) {
            return;
        }
        let is_same = self.entities.session.has(kind, id, text);
        if is_same && kind == Kind::Subscriber && origin == Locality::Any {
            return;
        }
        self.undeclare_own(own, kind, actions);
        if origin == Locality::SessionLocal {
            let key: Arc<str> = Arc::from(key.clone());
            let session = &mut self.entities.session;
            session.add_private(kind, id, Arc::clone(&key), complete);
            return self.private_changed(kind, &key, actions);
        }
        if origin == Locality::Remote {
            self.entities.session.set_remote_only(id, true);
        }
        self.entities.session.add(kind, id, text, complete);
        let info = self.own_info(kind, text);
        let new = Declared { kind, id, info };
        self.add_entity(face, new, key.clone().into_owned(), actions);
        self.own_changed(kind, text, actions);
    }

    fn undeclare_own(&mut self, own: OwnRef, kind: Kind, actions: &mut Vec<Action>) {
        let OwnRef { face, id } = own;
        if !self.is_local(face) || self.topology.is_admin(face) {
            return;
        }
        if let Some(key) = self.entities.session.remove_private(kind, id) {
            return self.private_changed(kind, &key, actions);
        }
        let Some(index) = self.entity_of(face, kind, id) else {
            return;
        };
        let Some(key) = self.entities(kind).key(index) else {
            return;
        };
        self.entities.session.remove(kind, id, &key);
        self.remove_entity(face, kind, id, actions);
        // Others on the same key may promise less.
        let info = self.own_info(kind, &key);
        let change = self.entities_mut(kind).set_info(index, face.index, info);
        self.apply(EntityRef { kind, index }, change, actions);
        self.own_changed(kind, &key, actions);
        self.entities.session.set_remote_only(id, false);
    }

    /// What the session's entities of a kind on `key` promise together to other nodes.
    fn own_info(&self, kind: Kind, key: &str) -> QueryableInfo {
        match kind {
            Kind::Queryable => self.entities.session.info(key),
            Kind::Subscriber | Kind::Token => QueryableInfo::default(),
        }
    }

    /// Something of the session on `key` that other nodes know has come or gone. The count of declarations may be as before,
    /// but not the routes within the session, nor the listeners' state if some are for other nodes only.
    fn own_changed(&mut self, kind: Kind, key: &str, actions: &mut Vec<Action>) {
        if kind == Kind::Subscriber {
            self.outdate(key);
        }
        if self.entities.session.has_remote_only() {
            self.rematch_key(kind, key, actions);
        }
    }

    /// Something on `key` that only the session reaches has come or gone.
    fn private_changed(&mut self, kind: Kind, key: &str, actions: &mut Vec<Action>) {
        self.outdate(key);
        self.rematch_key(kind, key, actions);
    }

    /// Whether the session has declared something under this id.
    pub fn uses_id(&self, face: FaceId, id: u32) -> bool {
        let mut kinds = Kind::ALL.into_iter();
        kinds.any(|kind| self.entity_of(face, kind, id).is_some())
            || self.wants.of_publisher(OwnRef { face, id }).is_some()
            || self.entities.session.is_private(id)
    }

    /// The session declares a publisher: the gateways are asked who subscribes to its key. `id` is the session's, unique
    /// among its live publishers and queriers; a live one with the same id ends. A key longer than 65535 bytes is ignored.
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

    /// The session declares a querier: the gateways are asked who replies on its key. `id` is the session's, unique among
    /// its live queriers and publishers; a live one with the same id ends. A key longer than 65535 bytes is ignored.
    pub fn local_querier(
        &mut self,
        face: FaceId,
        id: u32,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        self.begin_sending(OwnRef { face, id }, Kind::Queryable, key, actions);
    }

    /// The end of a querier of the session. Unknown ids are ignored.
    pub fn undeclare_local_querier(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        self.end_sending(OwnRef { face, id }, actions);
    }

    /// A publisher or a querier of the session, whose messages are for those of `kind` on this key.
    fn begin_sending(
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
        // Routers have no gateways, and fellow peers declare all they have unasked.
        if self.topology.role() != WhatAmI::Router {
            self.add_publisher(own, kind, Arc::from(key.clone()), actions);
        }
    }

    /// The end of a publisher or a querier, and of those who listen to whether it has a counterpart.
    fn end_sending(&mut self, own: OwnRef, actions: &mut Vec<Action>) {
        self.end_matching_of(own, actions);
        self.remove_publisher(own, actions);
    }

    /// Forgets the session behind a face that is gone.
    pub(super) fn forget_session(&mut self, gone: &Face, actions: &mut Vec<Action>) {
        if gone.info.kind != FaceKind::Local {
            return;
        }
        self.entities.session.clear();
        self.outdate_all();
        for publisher in self.wants.publishers_of(gone.id) {
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
        self.topology.is_local(face)
    }
}
