// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations of the node's own sessions. Their subscribers, queryables and tokens are entities
//! like those of a neighbour, of one face for all sessions; data that only this node needs of them is in
//! [`SessionEntities`](super::session_entities::SessionEntities).
//!
//! The session chooses the ids. A key longer than 65535 bytes, which cannot be encoded, is ignored,
//! and so is the end of an unknown id.

use std::sync::Arc;

use zonda_codec::{KeyExpr, QueryableInfo};

use crate::{
    audience::SessionNumber,
    entity::Declared,
    face::Face,
    face_id::{Action, FaceId, FaceKind, OwnRef},
    forwarding::ForwardingTable,
    kind::{EntityRef, Kind},
    message::WIRE_KEY_MAX,
    session_entities::{Own, OwnEntity},
    upstream_interests::{UpstreamInterestKey, UpstreamInterestUser},
};

impl ForwardingTable {
    /// Declares a subscriber, queryable or token of the session. The id is unique among the live
    /// ones of its kind; a live one with the same id ends.
    pub fn local_declare(
        &mut self,
        own: OwnRef,
        what: Own,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        let OwnRef { face, id } = own;
        let Own { kind, origin, .. } = what;
        if !self.may_declare(face, key) || self.has_declared(own, what, key) {
            return;
        }
        self.local_undeclare(own, kind, actions);
        // The session keeps subscribers and queryables by id.
        if kind != Kind::Token {
            let key = Arc::from(key.clone());
            self.entities.session.insert(id, OwnEntity { what, key });
        }
        // Entities for the session only stay out of the table.
        if !origin.is_beyond() {
            return self.private_changed(kind, key.as_str(), actions);
        }
        let info = self.own_info(kind, key.as_str());
        let new = Declared::new(kind, id, info);
        let declared = self.aggregation.of_entity(kind, key);
        self.add_entity(face, new, declared, actions);
        self.own_changed(what, key.as_str(), actions);
    }

    /// Returns true if the session has already declared exactly this. A queryable that is declared
    /// again is a new one.
    fn has_declared(&self, own: OwnRef, what: Own, key: &KeyExpr<'_>) -> bool {
        let kind = what.kind;
        let entity = self.entity_of(own.face, kind, own.id);
        let known = self.entities.session.get(kind, own.id);
        let declared = self.aggregation.of_entity(kind, key);
        kind != Kind::Queryable
            && entity.is_some_and(|entity| self.entities(kind).has_key(entity, declared.as_str()))
            && known.is_none_or(|known| known.what == what && *known.key == *key.as_str())
    }

    /// Undeclares a subscriber, queryable or token of the session.
    pub fn local_undeclare(&mut self, own: OwnRef, kind: Kind, actions: &mut Vec<Action>) {
        let OwnRef { face, id } = own;
        if !self.is_local(face) || self.topology.is_admin(face) {
            return;
        }
        let ended = self.entities.session.remove(kind, id);
        if let Some(OwnEntity { what, key }) = &ended
            && !what.origin.is_beyond()
        {
            return self.private_changed(kind, key, actions);
        }
        let Some(index) = self.entity_of(face, kind, id) else {
            return;
        };
        self.remove_entity(face, kind, id, actions);
        if let Some(OwnEntity { what, key }) = ended {
            // The rest on the same key may promise less.
            let info = self.own_info(kind, &key);
            let change = self.entities_mut(kind).set_info(index, face.index, info);
            self.apply(EntityRef { kind, index }, change, actions);
            self.own_changed(what, &key, actions);
        }
    }

    /// Returns the subscribers and queryables of a session of this node.
    pub fn entities_of(&self, session: SessionNumber) -> Vec<(Kind, u32)> {
        self.entities.session.of_session(session)
    }

    /// Invalidates all routes, after a session has ended or the links of a neighbour have changed.
    pub fn outdate_routes(&mut self) {
        self.outdate_all();
    }

    /// Returns the joint promise of the session's entities of a kind on `key` to other nodes.
    fn own_info(&self, kind: Kind, key: &str) -> QueryableInfo {
        match kind {
            Kind::Queryable => self.entities.session.info(kind, key),
            Kind::Subscriber | Kind::Token => QueryableInfo::default(),
        }
    }

    /// Updates routes and listeners after a change of the session's entities on `key` that other
    /// nodes know. The number of sources may be as before, but not the routes within the session,
    /// nor the listeners' state if some entities are not for all sessions of this node, or are declared
    /// as one.
    fn own_changed(&mut self, what: Own, key: &str, actions: &mut Vec<Action>) {
        if what.kind == Kind::Subscriber {
            self.outdate(key);
        }
        let is_aggregated = what.kind == Kind::Subscriber && self.aggregation.has_subscribers();
        if is_aggregated || what.is_particular() || self.entities.session.has_particular() {
            self.rematch(what.kind, key, None, actions);
        }
    }

    /// Updates routes and listeners after a change of entities on `key` that only the session reaches.
    fn private_changed(&mut self, kind: Kind, key: &str, actions: &mut Vec<Action>) {
        self.outdate(key);
        self.rematch(kind, key, None, actions);
    }

    /// Returns true if the session has declared an entity, publisher or querier under this id.
    pub fn uses_id(&self, face: FaceId, id: u32) -> bool {
        let mut kinds = Kind::ALL.into_iter();
        kinds.any(|kind| self.entity_of(face, kind, id).is_some())
            || self
                .wants
                .of(UpstreamInterestUser::Sender(face.own(id)))
                .is_some()
            || self.entities.session.has_id(id)
    }

    /// Declares a publisher, whose messages are for subscribers, or a querier, whose messages are
    /// for queryables: this node sends the gateways an interest in those of `kind` on its key. The
    /// id is unique among the live publishers and queriers of the session; a live one with the same
    /// id ends.
    pub fn local_sender(
        &mut self,
        own: OwnRef,
        kind: Kind,
        key: &KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        if self.may_declare(own.face, key) {
            self.undeclare_local_sender(own, actions);
            self.senders.insert(own, kind, Arc::from(key.clone()));
            let declared = self.aggregation.of_sender(kind, key);
            let what = UpstreamInterestKey::lasting(kind, Arc::from(declared));
            self.ask_for(UpstreamInterestUser::Sender(own), what, actions);
        }
    }

    /// Undeclares a publisher or a querier, and ends the listeners to its matching state.
    pub fn undeclare_local_sender(&mut self, own: OwnRef, actions: &mut Vec<Action>) {
        self.senders.remove(own);
        self.end_listeners(|listener| listener.belongs_to(own), actions);
        self.stop_asking(UpstreamInterestUser::Sender(own), actions);
    }

    /// Removes the state of the session behind a face that is gone.
    pub(super) fn forget_session(&mut self, gone: &Face, actions: &mut Vec<Action>) {
        if gone.info.kind != FaceKind::Local {
            return;
        }
        self.entities.session.clear();
        self.senders.remove_face(gone.id);
        self.outdate_all();
        for sender in self.wants.senders_of(gone.id) {
            self.stop_asking(sender, actions);
        }
        self.end_listeners(|listener| listener.face == gone.id, actions);
    }

    /// Returns true if this face is the session's, and the key can be encoded.
    pub(super) fn may_declare(&self, face: FaceId, key: &KeyExpr<'_>) -> bool {
        self.is_local(face) && key.as_str().len() <= WIRE_KEY_MAX
    }

    pub(super) fn is_local(&self, face: FaceId) -> bool {
        self.topology.is_local(face)
    }
}
