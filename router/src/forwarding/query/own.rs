// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queryables and queriers of the node's own session, by calls instead of messages.

use zonda_codec::{KeyExpr, QueryableInfo};

use crate::forwarding::entity::Kind;
use crate::forwarding::table::ForwardingTable;
use crate::forwarding::{Action, FaceId};

impl ForwardingTable {
    /// The session answers questions on `key`; if `complete`, it knows everything there is under it. `id` is the
    /// session's, unique among its live queryables; a live one with the same id ends. A key longer than 65535 bytes is
    /// ignored.
    pub fn local_queryable(
        &mut self,
        face: FaceId,
        id: u32,
        (key, complete): (&KeyExpr<'_>, bool),
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
        let info = self.own_info(key.as_str());
        let new = (id, key.clone().into_owned(), info);
        self.add_entity(face, Kind::Queryable, new, actions);
        self.rematch_reserved(Kind::Queryable, key.as_str(), actions);
    }

    /// The end of a queryable of the session. Unknown ids are ignored.
    pub fn undeclare_local_queryable(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        if !self.is_local(face)
            || Some(face) == self.admin_face
            || self.end_private(Kind::Queryable, id, actions)
        {
            return;
        }
        let Some(entity) = self.entity_of(face, Kind::Queryable, id) else {
            return;
        };
        self.complete_queryables.remove(&id);
        let Some(key) = self.entities(Kind::Queryable).key(entity) else {
            return;
        };
        self.local_queryables.remove(&key, id);
        self.remove_entity(face, Kind::Queryable, id, actions);
        // Others on the same key may promise less.
        let info = self.own_info(&key);
        let change = self
            .entities_mut(Kind::Queryable)
            .set_info(entity, face.index, info);
        self.apply(Kind::Queryable, entity, change, actions);
        self.end_reserved(Kind::Queryable, (id, &key), actions);
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
        self.begin_sending(face, id, (Kind::Queryable, key), actions);
    }

    /// The end of a querier of the session. Unknown ids are ignored.
    pub fn undeclare_local_querier(&mut self, face: FaceId, id: u32, actions: &mut Vec<Action>) {
        self.end_sending(face, id, actions);
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
