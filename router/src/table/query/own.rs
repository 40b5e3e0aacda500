// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queryables and queriers of the node's own session, by calls instead of messages.

use zonda_codec::{KeyExpr, QueryableInfo};

use crate::table::{
    Action, FaceId, OwnRef,
    declare::Declared,
    entity::{EntityRef, Kind},
    forwarding::ForwardingTable,
};

impl ForwardingTable {
    /// The session answers queries on `key`; if `complete`, it knows everything there is under it. `id` is the
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
        if !self.may_declare(face, key) {
            return;
        }
        self.undeclare_local_queryable(face, id, actions);
        self.local_queryables.insert(key.as_str(), id);
        if complete {
            self.complete_queryables.insert(id);
        }
        let (kind, info) = (Kind::Queryable, self.own_info(key.as_str()));
        let new = Declared { kind, id, info };
        self.add_entity(face, new, key.clone().into_owned(), actions);
        self.rematch_reserved(kind, key.as_str(), actions);
    }

    /// The end of a queryable of the session. Unknown ids are ignored.
    pub fn undeclare_local_queryable(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        if !self.is_local(face)
            || Some(face) == self.admin_face
            || self.end_private(Kind::Queryable, id, actions)
        {
            return;
        }
        let kind = Kind::Queryable;
        let Some(index) = self.entity_of(face, kind, id) else {
            return;
        };
        self.complete_queryables.remove(&id);
        let Some(key) = self.entities(kind).key(index) else {
            return;
        };
        self.local_queryables.remove(&key, id);
        self.remove_entity(face, kind, id, actions);
        // Others on the same key may promise less.
        let info = self.own_info(&key);
        let change = self.entities_mut(kind).set_info(index, face.index, info);
        self.apply(EntityRef { kind, index }, change, actions);
        self.end_reserved(kind, id, &key, actions);
    }

    /// The session declares a querier: the gateways are asked who answers on its key. `id` is the session's, unique among
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

    /// What the session's queryables on `key` promise together.
    fn own_info(&self, key: &str) -> QueryableInfo {
        let mut ids = self.local_queryables.get(key).iter();
        QueryableInfo {
            complete: ids.any(|id| self.complete_queryables.contains(id)),
            distance: 0,
        }
    }
}
