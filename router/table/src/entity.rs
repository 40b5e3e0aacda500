// SPDX-License-Identifier: MIT OR Apache-2.0

//! Subscribers, queryables and tokens: one entity per key and kind, with the faces that declared it
//! (its sources) and the faces that have an id for it.

use zonda_codec::QueryableInfo;

use crate::{
    face::Face,
    few::Few,
    key_tree::{KeyTree, owner::Owner},
    kind::Kind,
    slots::Slots,
};

/// Declaration of an entity by a face.
#[derive(Clone, Copy)]
pub(super) struct Declared {
    pub(super) kind: Kind,
    /// The id that the face gave it; `None` if the face identifies it by its key.
    pub(super) id: Option<u32>,
    pub(super) info: QueryableInfo,
    /// True if the declaration answers an interest, so that the entity existed before.
    pub(super) is_answer: bool,
}

impl Declared {
    pub(super) fn new(kind: Kind, id: u32, info: QueryableInfo) -> Self {
        Declared {
            kind,
            id: Some(id),
            info,
            is_answer: false,
        }
    }

    /// Returns a declaration that is identified by its key only.
    pub(super) fn on_key(kind: Kind, info: QueryableInfo) -> Self {
        Declared {
            id: None,
            ..Declared::new(kind, 0, info)
        }
    }

    /// Returns a declaration without a promise.
    pub(super) fn plain(kind: Kind, id: u32) -> Self {
        Declared::new(kind, id, QueryableInfo::default())
    }
}

/// A face that declared an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) slot: u32,
    /// Number of the face's ids that declare the entity.
    count: u32,
    distance: u16,
    complete: bool,
    /// True if the face belongs to this node's own side.
    pub(super) south: bool,
    /// The value of [`Face::is_apart`].
    pub(super) is_apart: bool,
}

impl Source {
    pub(super) const fn new(face: &Face, info: QueryableInfo) -> Self {
        Source {
            slot: face.id.index,
            count: 1,
            distance: info.distance,
            complete: info.complete,
            south: face.relation.conduct().south,
            is_apart: face.is_apart,
        }
    }

    pub(super) const fn info(&self) -> QueryableInfo {
        QueryableInfo {
            complete: self.complete,
            distance: self.distance,
        }
    }
}

/// Returns the index of a face's source among those of an entity, or the index where it belongs.
fn find(sources: &Few<Source>, slot: u32) -> Result<usize, usize> {
    let sources = sources.as_slice();
    sources.binary_search_by_key(&slot, |source| source.slot)
}

/// A key on which an entity is declared.
#[derive(Debug)]
struct Entity {
    /// Place of the key in the tree.
    place: u32,
    /// Promise of this node's own side that was sent to the other routers of a mesh, or would be if
    /// there were any.
    in_mesh: Option<QueryableInfo>,
    /// Sources, sorted by slot.
    sources: Few<Source>,
    /// Faces that have an id of this node for the entity; mostly none.
    announced: Few<u32>,
}

/// A change of the sources of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    /// The face whose declaration came or went.
    pub(super) slot: u32,
    /// True if the face belongs to this node's own side.
    pub(super) south: bool,
    /// The number of faces that declared the entity before.
    pub(super) before: usize,
    /// The number of faces that declare it now.
    pub(super) after: usize,
    /// True if the declaration that came answers an interest.
    pub(super) is_answer: bool,
}

/// All entities of one kind, by key and by number.
#[derive(Debug, Default)]
pub(super) struct EntityTree {
    tree: KeyTree<u32>,
    slots: Slots<Entity>,
    /// Number of announced ids of all entities together.
    announced: usize,
}

/// Bytes of memory of one announced id, in the face and in the entity.
pub(super) const ANNOUNCED_BYTES: usize = 32;

impl EntityTree {
    /// Returns the entity on this key; creates it if there is none.
    pub(super) fn find_or_add(&mut self, key: &str) -> u32 {
        let place = self.tree.place(key);
        if let Some(entity) = self.tree.first_at(place) {
            return entity;
        }
        let entity = self.slots.insert(Entity {
            place,
            in_mesh: None,
            sources: Few::None,
            announced: Few::None,
        });
        self.tree.insert_at(place, entity);
        entity
    }

    /// Returns the keys, each with the number of its entity.
    pub(super) const fn tree(&self) -> &KeyTree<u32> {
        &self.tree
    }

    /// Returns the entity on exactly this key.
    pub(super) fn on(&self, key: &str) -> Option<u32> {
        self.tree.get(key).first().copied()
    }

    /// Removes an entity without sources; returns the faces that still had an id for it.
    pub(super) fn remove(&mut self, entity: u32) -> Few<u32> {
        let Some(removed) = self.slots.remove(entity) else {
            return Few::None;
        };
        let slots = &self.slots;
        self.tree
            .remove_at(removed.place, entity, |entity| owner(slots, entity));
        self.announced -= removed.announced.as_slice().len();
        removed.announced
    }

    /// Returns the key of an entity, put together from its chunks.
    pub(super) fn key(&self, entity: u32) -> Option<String> {
        let mut key = String::new();
        self.write_key(entity, &mut key).then_some(key)
    }

    /// Writes the key of an entity to `key`; false if there is no such entity.
    pub(super) fn write_key(&self, entity: u32, key: &mut String) -> bool {
        let found = self.slots.get(entity);
        found.is_some_and(|found| {
            self.tree.write_key(found.place, key);
            true
        })
    }

    /// Returns the memory that an entity's key counts as.
    pub(super) fn key_memory(&self, entity: u32) -> usize {
        let found = self.slots.get(entity);
        found.map_or(0, |found| self.tree.key_memory(found.place))
    }

    /// Returns the bytes of memory of all entities: keys, sources and announced ids.
    pub(super) fn memory(&self) -> usize {
        self.tree.memory() + self.slots.memory() + self.announced * ANNOUNCED_BYTES
    }

    /// Returns true if the key of an entity has wildcards.
    pub(super) fn is_wild(&self, entity: u32) -> bool {
        let found = self.slots.get(entity);
        found.is_some_and(|found| self.tree.is_wild(found.place))
    }

    /// Returns true if there is an entity of this number with this key.
    pub(super) fn has_key(&self, entity: u32, key: &str) -> bool {
        let found = self.slots.get(entity);
        found.is_some_and(|found| self.tree.is_key_of(found.place, key))
    }

    /// Returns a bound: all entities have numbers below it.
    pub(super) fn places(&self) -> u32 {
        self.slots.places()
    }

    pub(super) fn sources(&self, entity: u32) -> &[Source] {
        match self.slots.get(entity) {
            Some(entity) => entity.sources.as_slice(),
            None => &[],
        }
    }

    /// Returns true if only the face at this slot has declared an entity.
    pub(super) fn is_alone(&self, entity: u32, slot: Option<u32>) -> bool {
        slot.is_some_and(|slot| owner(&self.slots, entity) == Owner::face(slot))
    }

    /// Records the owner of an entity in the tree.
    fn settle_owner(&mut self, entity: u32) {
        let slots = &self.slots;
        if let Some(found) = slots.get(entity)
            && !found.sources.as_slice().is_empty()
        {
            self.tree
                .settle_owner(found.place, |entity| owner(slots, entity));
        }
    }

    /// Returns the promise of this node's own side that other routers have for an entity.
    pub(super) fn in_mesh(&self, entity: u32) -> Option<QueryableInfo> {
        self.slots.get(entity)?.in_mesh
    }

    /// Stores that promise. Returns the previous one.
    pub(super) fn set_in_mesh(
        &mut self,
        entity: u32,
        info: Option<QueryableInfo>,
    ) -> Option<QueryableInfo> {
        let entity = self.slots.get_mut(entity)?;
        std::mem::replace(&mut entity.in_mesh, info)
    }

    /// Returns the faces that have an id of this node for an entity.
    pub(super) fn announced(&self, entity: u32) -> &[u32] {
        let found = self.slots.get(entity);
        found.map_or(&[], |entity| entity.announced.as_slice())
    }

    /// Adds one declaration of a face. `None` if the view of no other face changes.
    pub(super) fn add_source(&mut self, entity: u32, new: Source) -> Option<Change> {
        let sources = &mut self.slots.get_mut(entity)?.sources;
        let before = sources.as_slice().len();
        let mut change = Change {
            slot: new.slot,
            south: new.south,
            before,
            after: before,
            is_answer: false,
        };
        match find(sources, new.slot) {
            Ok(at) => {
                let source = sources.as_mut_slice().get_mut(at)?;
                source.count += 1;
                set_info(source, new.info()).then_some(change)
            }
            Err(at) => {
                sources.insert(at, new);
                change.after += 1;
                self.settle_owner(entity);
                Some(change)
            }
        }
    }

    /// Changes the promise of a face's declaration. `None` if the promise is the same.
    pub(super) fn set_info(
        &mut self,
        entity: u32,
        slot: u32,
        info: QueryableInfo,
    ) -> Option<Change> {
        let sources = &mut self.slots.get_mut(entity)?.sources;
        let at = find(sources, slot).ok()?;
        let count = sources.as_slice().len();
        let source = sources.as_mut_slice().get_mut(at)?;
        set_info(source, info).then_some(Change {
            slot,
            south: source.south,
            before: count,
            after: count,
            is_answer: false,
        })
    }

    /// Removes one declaration of a face, or all. `None` if the view of no other face changes.
    pub(super) fn remove_source(&mut self, entity: u32, slot: u32, all: bool) -> Option<Change> {
        let sources = &mut self.slots.get_mut(entity)?.sources;
        let at = find(sources, slot).ok()?;
        let before = sources.as_slice().len();
        let source = sources.as_mut_slice().get_mut(at)?;
        source.count -= 1;
        if source.count > 0 && !all {
            return None;
        }
        let south = source.south;
        sources.remove_at(at);
        self.settle_owner(entity);
        Some(Change {
            slot,
            south,
            before,
            after: before - 1,
            is_answer: false,
        })
    }

    /// Records that an entity was declared to a face.
    pub(super) fn add_announced(&mut self, entity: u32, slot: u32) {
        if let Some(entity) = self.slots.get_mut(entity) {
            entity.announced.push(slot);
            self.announced += 1;
        }
    }

    /// Records that a face has no id for an entity any more.
    pub(super) fn remove_announced(&mut self, entity: u32, slot: u32) {
        if let Some(entity) = self.slots.get_mut(entity)
            && entity.announced.remove(&slot)
        {
            self.announced -= 1;
        }
    }
}

/// Returns the face that alone has declared an entity.
fn owner(slots: &Slots<Entity>, entity: u32) -> Owner {
    match slots.get(entity).map(|entity| entity.sources.as_slice()) {
        None | Some([]) => Owner::NOBODY,
        Some([one]) => Owner::face(one.slot),
        Some(_) => Owner::SEVERAL,
    }
}

fn set_info(source: &mut Source, info: QueryableInfo) -> bool {
    let changed = source.info() != info;
    (source.complete, source.distance) = (info.complete, info.distance);
    changed
}
