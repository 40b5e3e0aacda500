// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declarations of neighbours: entities recorded per face and id, and aggregated per key.

use std::sync::Arc;

use zonda_codec::{Declaration, Declare, KeyExpr, Mapping, WireExpr};

use crate::{
    entity::{Declared, Source},
    face_id::{Action, FaceId},
    forwarding::ForwardingTable,
    ids::Learned,
    kind::{EntityRef, Kind},
    limits::key_memory,
    policy::{INITIAL, Relation},
};

/// Returns true if a key has wildcards.
fn is_wild(key: &str) -> bool {
    key.contains('*')
}

/// Id of a token in an answer to a current interest, which is not kept: its end is not declared.
const ANSWER: u32 = 0;

impl ForwardingTable {
    /// Handles a DECLARE from a neighbour.
    pub fn handle_declare(
        &mut self,
        face: FaceId,
        declare: &Declare<'_>,
        actions: &mut Vec<Action>,
    ) {
        let Some(source) = self.face_mut(face) else {
            return;
        };
        if source.relation == Relation::RouterToRouter {
            return self.handle_sourced(face, declare, actions);
        }
        if !source.relation.conduct().open {
            source.counters.misplaced += 1;
            return;
        }
        // Each kind of entity is recorded under the id that the face gave it.
        match declare.body {
            Declaration::KeyExpr { id, wire_expr } => self.learn_key(face, id, wire_expr),
            Declaration::UndeclareKeyExpr { id } => self.forget_key(face, id),
            Declaration::Subscriber { id, wire_expr } => {
                let new = Declared::plain(Kind::Subscriber, id);
                self.learn_entity(face, new, wire_expr, declare.interest_id, actions);
            }
            Declaration::Queryable {
                id,
                wire_expr,
                info,
            } => {
                let new = Declared::new(Kind::Queryable, id, info);
                self.learn_entity(face, new, wire_expr, declare.interest_id, actions);
            }
            Declaration::Token { id, wire_expr } => {
                let new = Declared::plain(Kind::Token, id);
                self.learn_entity(face, new, wire_expr, declare.interest_id, actions);
            }
            Declaration::UndeclareSubscriber { id, .. } => {
                self.remove_entity(face, Kind::Subscriber, id, actions);
            }
            Declaration::UndeclareQueryable { id, .. } => {
                self.remove_entity(face, Kind::Queryable, id, actions);
            }
            Declaration::UndeclareToken { id, key } => self.end_token(face, id, key, actions),
            Declaration::Final => self.handle_final(face, declare.interest_id, actions),
        }
    }

    /// Handles a D_KEYEXPR. It has no mapping bit: a scope in it counts as one of the receiver's
    /// ids, as in the reference.
    pub(super) fn learn_key(&mut self, face: FaceId, id: u16, expr: WireExpr<'_>) {
        let expr = WireExpr {
            mapping: Mapping::Receiver,
            ..expr
        };
        let key = self.declared_key(face, &expr);
        let limits = self.limits;
        let (Some(key), Some(source)) = (key, self.topology.face_mut(face)) else {
            return;
        };
        // Id 0 means no id on the wire.
        if id == 0 {
            source.counters.bad_keys += 1;
            return;
        }
        // A new id counts against the limits of the face.
        let known = source.ids.text(id, Mapping::Sender).is_some();
        let memory = key_memory(key.as_str());
        let count = source.ids.their_count();
        if !known && source.is_full(count, limits.key_ids_max, memory, &limits) {
            return self.notes.extend(source.note_of_full());
        }
        // Routes that spell keys below the new id are built again with it.
        let text: Arc<str> = Arc::from(key);
        let learned = self.topology.learn_id(face, id, Arc::clone(&text));
        if learned == Some(Learned::New) {
            self.outdate_spellings(face.index, &text);
        }
    }

    pub(super) fn forget_key(&mut self, face: FaceId, id: u16) {
        if let Some((text, true)) = self.topology.forget_id(face, id) {
            self.outdate_spellings(face.index, &text);
        }
    }

    fn learn_entity(
        &mut self,
        face: FaceId,
        new: Declared,
        expr: WireExpr<'_>,
        interest_id: Option<u32>,
        actions: &mut Vec<Action>,
    ) {
        let key = self.declared_key(face, &expr);
        let (Some(key), Some(source)) = (key, self.face_mut(face)) else {
            return;
        };
        // Tokens of answers: served nodes may not send them, and those of a gateway are relayed
        // to the asking node.
        let Declared { kind, id, .. } = new;
        let relation = source.relation;
        match (kind, interest_id, relation) {
            (Kind::Token, Some(_), Relation::Served) => {
                source.counters.misplaced += 1;
                return;
            }
            (Kind::Token, Some(interest), Relation::Upstream)
                if self.relay_token(face, interest, &key, actions)
                    || (id == Some(ANSWER) && !self.is_interested(face, interest)) =>
            {
                return;
            }
            _ => {}
        }
        // A gateway may send more than this node wants.
        if relation == Relation::Upstream && !self.wants.is_wanted(kind, key.as_str()) {
            return;
        }
        let is_answer = interest_id.is_some();
        self.add_entity(face, Declared { is_answer, ..new }, key, actions);
    }

    /// Returns the entity that a face declared under this id.
    pub(super) fn entity_of(&self, face: FaceId, kind: Kind, id: u32) -> Option<u32> {
        self.face(face)?;
        self.entities.by_id(face.index, kind, id)
    }

    /// Returns the entity that a face declared on exactly this key, for faces without ids.
    pub(super) fn entity_on(&self, face: FaceId, kind: Kind, key: &str) -> Option<u32> {
        let index = self.entities(kind).on(key)?;
        self.entity_of(face, kind, index)
    }

    /// Records an entity of a face under its id.
    pub(super) fn add_entity(
        &mut self,
        face: FaceId,
        new: Declared,
        key: KeyExpr<'_>,
        actions: &mut Vec<Action>,
    ) {
        let Declared { kind, id, info, .. } = new;
        // A repeated declaration changes no more than the promise.
        let known = match id {
            Some(id) => self.entity_of(face, kind, id),
            None => self.entity_on(face, kind, key.as_str()),
        };
        if let Some(index) = known
            && self.entities(kind).has_key(index, key.as_str())
        {
            let change = self.entities_mut(kind).set_info(index, face.index, info);
            self.apply(EntityRef { kind, index }, change, actions);
            return;
        }
        // A new one counts against the limits of the face.
        let limits = self.limits;
        let memory = key_memory(key.as_str());
        let count = self.entities.count(face.index, kind);
        let Some(source) = self.topology.face_mut(face) else {
            return;
        };
        if source.is_full(count, limits.entities_max(kind), memory, &limits) {
            return self.notes.extend(source.note_of_full());
        }
        let is_wild = is_wild(key.as_str());
        if is_wild {
            let (refused, note) = source.has_too_wild(0, &limits);
            if refused {
                return self.notes.extend(note);
            }
        }
        // Record it by key and by id, and announce the change.
        source.charge(memory, is_wild);
        let source = Source::new(source, info);
        let index = self.entities_mut(kind).find_or_add(key.as_str());
        let entity = EntityRef { kind, index };
        // An entity keeps its number for as long as the face declares it.
        self.entities
            .insert_id(face.index, id.unwrap_or(index), entity);
        let mut change = self.entities_mut(kind).add_source(index, source);
        if let Some(change) = &mut change {
            change.is_answer = new.is_answer;
        }
        self.apply(entity, change, actions);
    }

    /// Handles a U_TOKEN. A gateway adds the key of a token that it never declared, for interests
    /// in changes only.
    fn end_token(
        &mut self,
        face: FaceId,
        id: u32,
        key: Option<WireExpr<'_>>,
        actions: &mut Vec<Action>,
    ) {
        let Some(source) = self.face(face) else {
            return;
        };
        let is_known = self.entities.by_id(face.index, Kind::Token, id).is_some();
        match key {
            Some(key) if !is_known && source.relation == Relation::Upstream => {
                if let Some(key) = self.declared_key(face, &key)
                    && !self.is_alive(key.as_str())
                {
                    self.end_unannounced_key(key.as_str(), actions);
                }
            }
            _ => self.remove_entity(face, Kind::Token, id, actions),
        }
    }

    /// Forgets the entity that a face declared under `id`.
    pub(super) fn remove_entity(
        &mut self,
        face: FaceId,
        kind: Kind,
        id: u32,
        actions: &mut Vec<Action>,
    ) {
        let Some(source) = self.topology.face_mut(face) else {
            return;
        };
        let Some(index) = self.entities.remove_id(face.index, kind, id) else {
            // A gateway may undeclare an entity of an interest that has ended in between.
            source.counters.unknown_ids += u64::from(!source.relation.conduct().ask);
            return;
        };
        self.release_entity(face, EntityRef { kind, index }, actions);
    }

    /// Takes back one declaration of an entity that the face's tables no longer hold.
    pub(super) fn release_entity(
        &mut self,
        face: FaceId,
        entity: EntityRef,
        actions: &mut Vec<Action>,
    ) {
        let EntityRef { kind, index } = entity;
        let memory = self.entities(kind).key_memory(index);
        let is_wild = self.entities(kind).is_wild(index);
        if let Some(source) = self.face_mut(face) {
            source.discharge(memory, is_wild);
        }
        let slot = face.index;
        let change = self.entities_mut(kind).remove_source(index, slot, false);
        self.apply(entity, change, actions);
    }

    pub(super) fn handle_final(
        &mut self,
        face: FaceId,
        interest_id: Option<u32>,
        actions: &mut Vec<Action>,
    ) {
        let Some(source) = self.face_mut(face) else {
            return;
        };
        match (source.relation, interest_id) {
            (Relation::PeerToPeer, Some(INITIAL)) => {
                // The peer has declared all it had: routes to it depend on its subscribers from now on.
                if !std::mem::replace(&mut source.final_zero, true) {
                    self.outdate_all();
                }
                self.wants.stop_waiting(face, INITIAL);
                self.stop_waiting_for(face, actions);
                self.queries.stir_held();
            }
            (Relation::Upstream, Some(id)) => {
                // A gateway has answered an interest.
                source.ids.note_answered(id);
                self.finalise(face, id, actions);
            }
            _ => source.counters.misplaced += 1,
        }
    }
}
