// SPDX-License-Identifier: MIT OR Apache-2.0

//! Announcements of entities to neighbours: gateways and fellow peers receive every entity, served
//! nodes those that their interests cover. An entity stays announced while one source is left that
//! may be passed on to the neighbour.

use zonda_codec::{Declaration, QueryableInfo, WireExpr};

use crate::{
    announced::Announced,
    entity::Change,
    face_id::Action,
    forwarding::ForwardingTable,
    gate::GatedKind,
    ids::{Spelling, beginning},
    kind::{EntityRef, Kind},
    message,
    policy::Relation,
};

/// Extent of the changes of an entity that a face receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnnounceScope {
    /// All changes.
    All,
    /// All changes; a new entity is sent as an answer to this interest.
    Answer(u32),
    /// Changes and the end of an entity that was announced to the face, but no new entity.
    Known,
    /// No news; an earlier announcement is still taken back once it is no longer true.
    Nothing,
}

impl ForwardingTable {
    /// Announces a change of the sources of an entity to all faces concerned; forgets the entity if
    /// no source is left.
    pub(super) fn apply(
        &mut self,
        entity: EntityRef,
        change: Option<Change>,
        actions: &mut Vec<Action>,
    ) {
        if entity.kind == Kind::Subscriber && change.is_some() {
            self.outdate_entity(entity.index);
        }
        if entity.kind == Kind::Queryable && change.is_some() {
            self.queries.stir_held();
        }
        self.announce_change(entity, change, actions);
    }

    /// Announces a change that alters no route, because its face is already gone.
    pub(super) fn announce_change(
        &mut self,
        entity: EntityRef,
        change: Option<Change>,
        actions: &mut Vec<Action>,
    ) {
        let Some(change) = change else {
            return;
        };
        if change.south {
            for slot in self.topology.north().to_vec() {
                self.refresh(entity, slot, AnnounceScope::All, actions);
            }
        }
        self.announce_to_interested(entity, change, actions);
        if change.after > change.before {
            self.announce_to_groups(entity, actions);
        }
        self.notify_session(entity, change, actions);
        if change.after == 0 && !self.announcing.has(entity) {
            self.forget_entity(entity, actions);
        }
    }

    /// Forgets an entity without sources, and sends its undeclaration to every face that has an id
    /// for it. A face whose interest has ended receives the undeclaration too: its next interest in
    /// the key may be under way, and the face counts earlier declarations as answers to that interest.
    pub(super) fn forget_entity(
        &mut self,
        EntityRef { kind, index }: EntityRef,
        actions: &mut Vec<Action>,
    ) {
        self.refresh_in_mesh(EntityRef { kind, index }, None, actions);
        for &slot in self.entities_mut(kind).remove(index).as_slice() {
            if let Some(face) = self.topology.at_mut(slot)
                && let Some(announced) = face.announced.remove(EntityRef { kind, index })
            {
                let end = message::undeclaration(kind, announced.id);
                message::declare(face.id, None, end, actions);
            }
        }
    }

    /// Undeclares a token to a face that has no id for it, since its interest was in later changes only.
    pub(super) fn end_unannounced(&mut self, slot: u32, key: &str, actions: &mut Vec<Action>) {
        if self.permits(slot, GatedKind::Entity(Kind::Token), key)
            && let Some(face) = self.topology.at(slot)
        {
            let spelling = face.ids.spell_declared(key);
            let key = Some(spelling.wire_expr(key));
            let end = Declaration::UndeclareToken { id: 0, key };
            message::declare(face.id, None, end, actions);
        }
    }

    /// Notifies the session's listeners that a change of the sources of an entity concerns.
    fn notify_session(&mut self, entity: EntityRef, change: Change, actions: &mut Vec<Action>) {
        let EntityRef { kind, index } = entity;
        match kind {
            Kind::Token => self.token_changed(index, change, actions),
            _ if !self.listeners.has_any(kind) => {}
            _ => {
                let key = self.entities(kind).key(index).unwrap_or_default();
                self.rematch(kind, &key, Some(change), actions);
            }
        }
    }

    /// Announces every entity of the south to a new neighbour of the north.
    pub(super) fn announce_everything(&mut self, slot: u32, actions: &mut Vec<Action>) {
        for kind in Kind::ALL {
            let mut all = Vec::new();
            let tree = self.entities(kind).tree();
            tree.for_each(&mut |index| all.push(index));
            all.sort_unstable();
            for index in all {
                self.refresh(EntityRef { kind, index }, slot, AnnounceScope::All, actions);
            }
        }
    }

    /// Brings the announcements of an entity to `slot` up to date.
    pub(super) fn refresh(
        &mut self,
        entity: EntityRef,
        slot: u32,
        hears: AnnounceScope,
        actions: &mut Vec<Action>,
    ) {
        let EntityRef { kind, index } = entity;
        // A mesh keeps the promise with the entity, not with the face.
        let Some(face) = self.topology.at(slot) else {
            return;
        };
        let sources = self.entities(kind).sources(index);
        let now = self.topology.visible(kind, sources, face);
        if face.relation == Relation::Mesh {
            return self.refresh_in_mesh(entity, now, actions);
        }
        let before = face.announced.get(entity);
        // Send only the difference between what the face has and what it may see now.
        match (now, before) {
            (Some(info), None) => match hears {
                AnnounceScope::All => self.announce(entity, info, slot, None, actions),
                AnnounceScope::Answer(interest) => {
                    self.announce(entity, info, slot, Some(interest), actions);
                }
                AnnounceScope::Known | AnnounceScope::Nothing => {}
            },
            (Some(info), Some(announced))
                if hears != AnnounceScope::Nothing && announced.info != info =>
            {
                self.announce(entity, info, slot, None, actions);
            }
            (None, Some(_)) => self.unannounce(entity, slot, actions),
            _ => {}
        }
    }

    /// Takes back the announcement of an entity to `slot`.
    pub(super) fn unannounce(&mut self, entity: EntityRef, slot: u32, actions: &mut Vec<Action>) {
        let EntityRef { kind, index } = entity;
        self.entities_mut(kind).remove_announced(index, slot);
        if let Some(face) = self.topology.at_mut(slot)
            && let Some(announced) = face.announced.remove(entity)
        {
            let end = message::undeclaration(kind, announced.id);
            message::declare(face.id, None, end, actions);
        }
    }

    /// Declares an entity to `slot` under the id that the face already has for it, or a new one.
    pub(super) fn announce(
        &mut self,
        entity: EntityRef,
        info: QueryableInfo,
        slot: u32,
        interest_id: Option<u32>,
        actions: &mut Vec<Action>,
    ) {
        let EntityRef { kind, index } = entity;
        let Some(key) = self.entities(kind).key(index) else {
            return;
        };
        if !self.permits(slot, GatedKind::Entity(kind), &key) {
            return;
        }
        // The key's id, if it gets one, is declared before the entity.
        let spelling = self.spell_for(kind, slot, &key, actions);
        let Some(face) = self.topology.at_mut(slot) else {
            return;
        };
        // A face keeps the id of an entity for as long as the entity stays announced to it.
        let known = face.announced.get(entity).map(|known| known.id);
        let others = self.interests.announced_groups(slot);
        let id = known.unwrap_or_else(|| face.announced.next_id(others));
        face.announced.insert(entity, Announced { id, info });
        let body = message::declaration(kind, id, spelling.wire_expr(&key), info);
        message::declare(face.id, interest_id, body, actions);
        if known.is_none() {
            self.entities_mut(kind).add_announced(index, slot);
        }
    }

    /// Spells the key of an entity of this kind for `slot`. A token gets no key id of its own: no
    /// data goes to its key, and tokens that come and go would use the ids up.
    pub(super) fn spell_for(
        &mut self,
        kind: Kind,
        slot: u32,
        key: &str,
        actions: &mut Vec<Action>,
    ) -> Spelling {
        if kind != Kind::Token {
            return self.spell(slot, key, actions);
        }
        let face = self.topology.at(slot);
        face.map_or(Spelling::full(), |face| face.ids.spell_declared(key))
    }

    /// Spells a key for `slot` in a declaration or an interest. Declares an id for the key's plain
    /// beginning first if the neighbour may get one: always in the north, in the south where an
    /// interest asks for it.
    pub(super) fn spell(&mut self, slot: u32, key: &str, actions: &mut Vec<Action>) -> Spelling {
        let own_key_ids_max = self.limits.own_key_ids_max;
        let Some(face) = self.topology.at_mut(slot) else {
            return Spelling::full();
        };
        // The ids declared so far may be enough, or the neighbour gets no more.
        let written = face.ids.spell_declared(key);
        let prefix = beginning(key);
        if written.skip >= prefix.len()
            || face.ids.our_count() >= own_key_ids_max
            || !(face.relation.conduct().announces_unasked
                || face.relation == Relation::RouterToRouter
                || self.interests.grants(slot, prefix))
        {
            return written;
        }
        let Some(id) = face.ids.declare(prefix) else {
            return written;
        };
        // Routes that spell keys below the new id are built again with it.
        let wire_expr = WireExpr::full(prefix);
        let body = Declaration::KeyExpr { id, wire_expr };
        message::declare(face.id, None, body, actions);
        let spelling = face.ids.spell_declared(key);
        self.outdate_spellings(slot, prefix);
        spelling
    }

    /// Returns true if a face has an id for an entity.
    pub(super) fn is_announced(&self, slot: u32, entity: EntityRef) -> bool {
        let face = self.topology.at(slot);
        face.is_some_and(|face| face.announced.get(entity).is_some())
    }
}
