// SPDX-License-Identifier: MIT OR Apache-2.0

//! Telling neighbours what exists: all of it to gateways and fellow peers, and to served nodes what their interests
//! cover. An entity stays announced as long as one source that may be passed on to the neighbour is left.

use zonda_codec::{Declaration, QueryableInfo, WireExpr};

use crate::table::{
    announced::Announced,
    entity::Change,
    face_id::Action,
    forwarding::ForwardingTable,
    ids::{Spelling, beginning},
    kind::{EntityRef, Kind},
    message,
    policy::Relation,
};

/// The news of an entity that a face is to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hears {
    /// Everything.
    All,
    /// Everything; if it is a new one, as the answer to this interest.
    Answer(u32),
    /// How one it knows changes and that it ends, but of no new one.
    Known,
    /// Nothing; but what was announced to it before is taken back when it is no longer true.
    Nothing,
}

impl ForwardingTable {
    /// Tells everybody concerned how the sources of an entity changed, and forgets it if none is left.
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

    /// Announces a change that alters no route: that of a face that is gone already.
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
                self.refresh(entity, slot, Hears::All, actions);
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

    /// Forgets an entity that has no sources, and says its end to every face that still knows it. A face whose interest has ended
    /// hears of it too: another interest in the key may be on its way, and the face takes what it heard before for its answer.
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

    /// Announces the end of a token to a face that never heard of it, as it asked for changes after that.
    pub(super) fn end_unannounced(&mut self, slot: u32, key: &str, actions: &mut Vec<Action>) {
        if let Some(face) = self.topology.at(slot) {
            let spelling = face.ids.spell_declared(key);
            let key = Some(spelling.wire_expr(key));
            let end = Declaration::UndeclareToken { id: 0, key };
            message::declare(face.id, None, end, actions);
        }
    }

    /// Tells the session's listeners what concerns them, after the sources of an entity changed.
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

    /// Tells a new neighbour of the north of every entity of the south.
    pub(super) fn announce_everything(&mut self, slot: u32, actions: &mut Vec<Action>) {
        for kind in Kind::ALL {
            let mut all = Vec::new();
            let tree = self.entities(kind).tree();
            tree.for_each(&mut |index| all.push(index));
            all.sort_unstable();
            for index in all {
                self.refresh(EntityRef { kind, index }, slot, Hears::All, actions);
            }
        }
    }

    /// Brings what `slot` knows of an entity up to date.
    pub(super) fn refresh(
        &mut self,
        entity: EntityRef,
        slot: u32,
        hears: Hears,
        actions: &mut Vec<Action>,
    ) {
        let EntityRef { kind, index } = entity;
        let Some(face) = self.topology.at(slot) else {
            return;
        };
        let sources = self.entities(kind).sources(index);
        let now = self.topology.visible(kind, sources, face);
        if face.relation == Relation::Mesh {
            return self.refresh_in_mesh(entity, now, actions);
        }
        let before = face.announced.get(entity);
        match (now, before) {
            (Some(info), None) => match hears {
                Hears::All => self.announce(entity, info, slot, None, actions),
                Hears::Answer(interest) => {
                    self.announce(entity, info, slot, Some(interest), actions);
                }
                Hears::Known | Hears::Nothing => {}
            },
            (Some(info), Some(announced)) if hears != Hears::Nothing && announced.info != info => {
                self.announce(entity, info, slot, None, actions);
            }
            (None, Some(announced)) => {
                self.entities_mut(kind).remove_announced(index, slot);
                if let Some(face) = self.topology.at_mut(slot) {
                    face.announced.remove(entity);
                    let end = message::undeclaration(kind, announced.id);
                    message::declare(face.id, None, end, actions);
                }
            }
            _ => {}
        }
    }

    /// Tells `slot` of an entity under the id it knows it by, or a new one.
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
        let spelling = self.spell_for(kind, slot, &key, actions);
        let Some(face) = self.topology.at_mut(slot) else {
            return;
        };
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

    /// Spells the key of an entity of this kind for `slot`. A token gets no id of its own: no data goes to its key, and tokens
    /// that come and go would use the ids up.
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

    /// Spells a key for `slot` in a declaration or an interest. Declares an id for its plain beginning first
    /// if the neighbour may get one: always in the north, in the south where an interest asks for it.
    pub(super) fn spell(&mut self, slot: u32, key: &str, actions: &mut Vec<Action>) -> Spelling {
        let own_key_ids_max = self.limits.own_key_ids_max;
        let Some(face) = self.topology.at_mut(slot) else {
            return Spelling::full();
        };
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
        let wire_expr = WireExpr::full(prefix);
        let body = Declaration::KeyExpr { id, wire_expr };
        message::declare(face.id, None, body, actions);
        let spelling = face.ids.spell_declared(key);
        self.outdate_spellings(slot, prefix);
        spelling
    }

    /// Tells if a face knows of an entity.
    pub(super) fn is_announced(&self, slot: u32, entity: EntityRef) -> bool {
        let face = self.topology.at(slot);
        face.is_some_and(|face| face.announced.get(entity).is_some())
    }
}
