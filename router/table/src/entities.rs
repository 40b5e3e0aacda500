// SPDX-License-Identifier: MIT OR Apache-2.0

//! The entities of each kind, and the ids under which each face declared its own.

use std::collections::HashMap;

use crate::{
    entity::EntityTree,
    id_map::IdMap,
    kind::{EntityRef, Kind, PerKind},
    session_entities::SessionEntities,
};

/// All entities of a table.
#[derive(Debug, Default)]
pub(super) struct Entities {
    kinds: PerKind<EntityTree>,
    /// Declarations of each face, by the face's slot.
    faces: HashMap<u32, Declarations>,
    /// Data of the session's own subscribers and queryables in addition to their keys.
    pub(super) session: SessionEntities,
}

/// The declarations of one face.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    /// Entities by the face's ids.
    by_id: PerKind<IdMap>,
    /// Entities whose id the face declared again on another key: they stay until the face is removed.
    orphans: PerKind<Vec<u32>>,
}

impl Entities {
    pub(super) fn of(&self, kind: Kind) -> &EntityTree {
        self.kinds.of(kind)
    }

    pub(super) fn of_mut(&mut self, kind: Kind) -> &mut EntityTree {
        self.kinds.of_mut(kind)
    }

    /// Returns the bytes of memory of all entities.
    pub(super) fn memory(&self) -> usize {
        self.kinds.values().map(EntityTree::memory).sum()
    }

    /// Returns the cost of all searches so far.
    pub(super) fn steps(&self) -> u64 {
        let kinds = self.kinds.values().map(|kind| kind.tree().steps());
        kinds.sum::<u64>() + self.session.steps()
    }

    /// Returns the entity that the face at a slot declared under an id.
    pub(super) fn by_id(&self, slot: u32, kind: Kind, id: u32) -> Option<u32> {
        self.faces.get(&slot)?.by_id.of(kind).get(id)
    }

    /// Records that the face at a slot declared an entity under an id.
    pub(super) fn insert_id(&mut self, slot: u32, id: u32, EntityRef { kind, index }: EntityRef) {
        let face = self.faces.entry(slot).or_default();
        let orphan = face.by_id.of_mut(kind).insert(id, index);
        face.orphans.of_mut(kind).extend(orphan);
    }

    /// Removes an id of a face and returns its entity.
    pub(super) fn remove_id(&mut self, slot: u32, kind: Kind, id: u32) -> Option<u32> {
        self.faces.get_mut(&slot)?.by_id.of_mut(kind).remove(id)
    }

    /// Counts the declarations of a kind that a face has.
    pub(super) fn count(&self, slot: u32, kind: Kind) -> usize {
        let face = self.faces.get(&slot);
        face.map_or(0, |face| {
            face.by_id.of(kind).len() + face.orphans.of(kind).len()
        })
    }

    /// Returns the slots of the faces that have declared a subscriber or a queryable.
    pub(super) fn takers(&self) -> impl Iterator<Item = u32> {
        let takes = |slot: &u32| {
            self.count(*slot, Kind::Subscriber) > 0 || self.count(*slot, Kind::Queryable) > 0
        };
        self.faces.keys().copied().filter(takes)
    }

    /// Counts the ids of all kinds that a face has.
    pub(super) fn ids(&self, slot: u32) -> usize {
        let face = self.faces.get(&slot);
        face.map_or(0, |face| face.by_id.values().map(IdMap::len).sum())
    }

    /// Returns the ids of a kind that the face at a slot declared, with their entities.
    pub(super) fn ids_of(&self, slot: u32, kind: Kind) -> impl Iterator<Item = (u32, u32)> {
        let face = self.faces.get(&slot).into_iter();
        face.flat_map(move |face| face.by_id.of(kind).iter())
    }

    /// Returns the entities of a kind that a face declared, once per declaration.
    pub(super) fn declared(&self, slot: u32, kind: Kind) -> impl Iterator<Item = u32> {
        let face = self.faces.get(&slot);
        face.into_iter().flat_map(move |face| {
            let by_id = face.by_id.of(kind).iter().map(|(_, entity)| entity);
            by_id.chain(face.orphans.of(kind).iter().copied())
        })
    }

    /// Removes the declarations of a face that are of these entities, and returns the entities,
    /// once per declaration, in order.
    pub(super) fn take(
        &mut self,
        slot: u32,
        kind: Kind,
        is_taken: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let mut taken = Vec::new();
        let Some(face) = self.faces.get_mut(&slot) else {
            return taken;
        };
        let mut keep = |entity| {
            let is_taken = is_taken(entity);
            taken.extend(is_taken.then_some(entity));
            !is_taken
        };
        face.by_id.of_mut(kind).retain(&mut keep);
        face.orphans.of_mut(kind).retain(|entity| keep(*entity));
        taken.sort_unstable();
        taken
    }

    /// Removes and returns the ids of a face that is gone. The caller removes the entities one by one.
    pub(super) fn remove_face(&mut self, slot: u32) -> Declarations {
        self.faces.remove(&slot).unwrap_or_default()
    }
}

impl Declarations {
    /// Returns the entities, once per declaration.
    pub(super) fn into_entities(self) -> impl Iterator<Item = EntityRef> {
        let by_id = self.by_id.into_each();
        by_id
            .zip(self.orphans.into_each())
            .flat_map(|((kind, by_id), (_, orphans))| {
                let entities = by_id.into_entities().chain(orphans);
                entities.map(move |index| EntityRef { kind, index })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind::Token;

    fn declare(entities: &mut Entities, slot: u32, id: u32, key: &str) -> u32 {
        let index = entities.of_mut(KIND).find_or_add(key);
        entities.insert_id(slot, id, EntityRef { kind: KIND, index });
        index
    }

    #[test]
    fn an_id_that_is_declared_again_leaves_its_first_entity_to_the_face() {
        let mut entities = Entities::default();
        let first = declare(&mut entities, 3, 7, "a");
        let second = declare(&mut entities, 3, 7, "b");
        assert_eq!(entities.by_id(3, KIND, 7), Some(second));
        assert_eq!((entities.count(3, KIND), entities.ids(3)), (2, 1));
        assert_eq!(entities.by_id(4, KIND, 7), None);
        assert_eq!(entities.remove_id(3, KIND, 7), Some(second));
        let gone = entities.remove_face(3).into_entities();
        assert_eq!(gone.map(|gone| gone.index).collect::<Vec<_>>(), [first]);
    }

    #[test]
    fn what_is_taken_from_a_face_comes_once_for_each_declaration() {
        let mut entities = Entities::default();
        let a = declare(&mut entities, 0, 1, "a");
        declare(&mut entities, 0, 2, "a");
        let b = declare(&mut entities, 0, 3, "b");
        declare(&mut entities, 1, 3, "a");
        assert_eq!(entities.take(0, KIND, |entity| entity == a), [a, a]);
        assert_eq!(entities.declared(0, KIND).collect::<Vec<_>>(), [b]);
        assert_eq!(entities.count(1, KIND), 1);
    }
}
