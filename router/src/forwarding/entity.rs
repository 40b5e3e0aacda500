// SPDX-License-Identifier: MIT OR Apache-2.0

//! Subscribers, queryables and tokens: one entity per key and kind, with the faces that declared it
//! (its sources) and the faces that were told of it.

use std::sync::Arc;

use zonda_codec::{InterestOptions, QueryableInfo};

use super::key_tree::KeyTree;
use super::slots::Slots;

/// What can be declared on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Subscriber,
    Queryable,
    Token,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Subscriber, Kind::Queryable, Kind::Token];

    /// The option of an interest that asks for this kind.
    pub(super) const fn option(self) -> InterestOptions {
        match self {
            Kind::Subscriber => InterestOptions::SUBSCRIBERS,
            Kind::Queryable => InterestOptions::QUERYABLES,
            Kind::Token => InterestOptions::TOKENS,
        }
    }
}

/// One value per kind.
#[derive(Debug, Default)]
pub(super) struct PerKind<T>([T; 3]);

impl<T> PerKind<T> {
    pub(super) fn of(&self, kind: Kind) -> &T {
        &self.0[kind as usize]
    }

    pub(super) fn of_mut(&mut self, kind: Kind) -> &mut T {
        &mut self.0[kind as usize]
    }

    /// What `change` makes of each.
    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> PerKind<U> {
        PerKind(self.0.map(change))
    }
}

/// A face that declared an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) slot: u32,
    /// How many of its ids declare it.
    count: u32,
    distance: u16,
    complete: bool,
    /// The face belongs to this node's own side.
    pub(super) south: bool,
}

impl Source {
    pub(super) const fn new(slot: u32, south: bool, info: QueryableInfo) -> Self {
        Source {
            slot,
            count: 1,
            distance: info.distance,
            complete: info.complete,
            south,
        }
    }

    pub(super) const fn info(&self) -> QueryableInfo {
        QueryableInfo {
            complete: self.complete,
            distance: self.distance,
        }
    }
}

/// Sorted by slot. One source, the usual case, needs no allocation.
#[derive(Debug)]
enum Sources {
    One(Source),
    Many(Vec<Source>),
}

impl Sources {
    fn as_slice(&self) -> &[Source] {
        match self {
            Sources::One(source) => std::slice::from_ref(source),
            Sources::Many(sources) => sources,
        }
    }

    fn find(&self, slot: u32) -> Result<usize, usize> {
        self.as_slice()
            .binary_search_by_key(&slot, |source| source.slot)
    }

    fn as_mut_slice(&mut self) -> &mut [Source] {
        match self {
            Sources::One(source) => std::slice::from_mut(source),
            Sources::Many(sources) => sources,
        }
    }

    fn insert(&mut self, at: usize, source: Source) {
        match self {
            Sources::Many(sources) if sources.is_empty() => *self = Sources::One(source),
            Sources::Many(sources) => sources.insert(at, source),
            Sources::One(first) => {
                let mut sources = vec![*first];
                sources.insert(at, source);
                *self = Sources::Many(sources);
            }
        }
    }

    fn remove(&mut self, at: usize) {
        match self {
            Sources::One(_) => *self = Sources::Many(Vec::new()),
            Sources::Many(sources) => {
                sources.remove(at);
                if let [last] = sources[..] {
                    *self = Sources::One(last);
                }
            }
        }
    }
}

/// A key on which something is declared.
#[derive(Debug)]
struct Entity {
    key: Arc<str>,
    sources: Sources,
    /// The faces that know it by an id of this node; mostly none.
    told: Vec<u32>,
}

/// How the sources of an entity changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    /// The face whose declaration came or went.
    pub(super) slot: u32,
    /// Whether that face belongs to this node's own side.
    pub(super) south: bool,
    /// How many faces declared the entity before.
    pub(super) before: usize,
    /// How many do now.
    pub(super) after: usize,
}

/// All entities of one kind.
#[derive(Debug)]
pub(super) struct Entities {
    pub(super) tree: KeyTree<u32>,
    slots: Slots<Entity>,
}

impl Default for Entities {
    fn default() -> Self {
        Entities {
            tree: KeyTree::new(),
            slots: Slots::new(),
        }
    }
}

impl Entities {
    /// The entity on this key, which is made if there is none.
    pub(super) fn find_or_add(&mut self, key: &Arc<str>) -> u32 {
        let slots = &mut self.slots;
        self.tree.first_or_insert(key, || {
            slots.insert(Entity {
                key: key.clone(),
                sources: Sources::Many(Vec::new()),
                told: Vec::new(),
            })
        })
    }

    /// Removes an entity without sources; gives back the faces that still had an id for it.
    pub(super) fn remove(&mut self, entity: u32) -> Vec<u32> {
        let Some(removed) = self.slots.remove(entity) else {
            return Vec::new();
        };
        self.tree.remove(&removed.key, entity);
        removed.told
    }

    pub(super) fn key(&self, entity: u32) -> Option<&Arc<str>> {
        self.slots.get(entity).map(|entity| &entity.key)
    }

    /// All entities have numbers below this.
    pub(super) fn places(&self) -> u32 {
        self.slots.places()
    }

    pub(super) fn sources(&self, entity: u32) -> &[Source] {
        match self.slots.get(entity) {
            Some(entity) => entity.sources.as_slice(),
            None => &[],
        }
    }

    /// Adds one declaration of a face. `None` if nothing changes for anybody else.
    pub(super) fn add_source(&mut self, entity: u32, new: Source) -> Option<Change> {
        let sources = &mut self.slots.get_mut(entity)?.sources;
        let before = sources.as_slice().len();
        let mut change = Change {
            slot: new.slot,
            south: new.south,
            before,
            after: before,
        };
        match sources.find(new.slot) {
            Ok(at) => {
                let source = sources.as_mut_slice().get_mut(at)?;
                source.count += 1;
                set_info(source, new.info()).then_some(change)
            }
            Err(at) => {
                sources.insert(at, new);
                change.after += 1;
                Some(change)
            }
        }
    }

    /// Changes what a face's declaration promises. `None` if nothing changes.
    pub(super) fn set_info(
        &mut self,
        entity: u32,
        slot: u32,
        info: QueryableInfo,
    ) -> Option<Change> {
        let sources = &mut self.slots.get_mut(entity)?.sources;
        let at = sources.find(slot).ok()?;
        let count = sources.as_slice().len();
        let source = sources.as_mut_slice().get_mut(at)?;
        set_info(source, info).then_some(Change {
            slot,
            south: source.south,
            before: count,
            after: count,
        })
    }

    /// Takes back one declaration of a face, or all. `None` if nothing changes for anybody else.
    pub(super) fn remove_source(&mut self, entity: u32, slot: u32, all: bool) -> Option<Change> {
        let sources = &mut self.slots.get_mut(entity)?.sources;
        let at = sources.find(slot).ok()?;
        let before = sources.as_slice().len();
        let source = sources.as_mut_slice().get_mut(at)?;
        source.count -= 1;
        if source.count > 0 && !all {
            return None;
        }
        let south = source.south;
        sources.remove(at);
        Some(Change {
            slot,
            south,
            before,
            after: before - 1,
        })
    }

    /// Notes that a face was told.
    pub(super) fn add_told(&mut self, entity: u32, slot: u32) {
        if let Some(entity) = self.slots.get_mut(entity) {
            entity.told.push(slot);
        }
    }

    /// Notes that a face has no id for it any more.
    pub(super) fn remove_told(&mut self, entity: u32, slot: u32) {
        if let Some(entity) = self.slots.get_mut(entity)
            && let Some(at) = entity.told.iter().position(|told| *told == slot)
        {
            entity.told.swap_remove(at);
        }
    }
}

fn set_info(source: &mut Source, info: QueryableInfo) -> bool {
    let changed = source.info() != info;
    (source.complete, source.distance) = (info.complete, info.distance);
    changed
}
