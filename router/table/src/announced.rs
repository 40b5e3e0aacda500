// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entities that were declared to a face, and their ids.

use std::collections::{HashMap, HashSet};

use zonda_codec::QueryableInfo;

use crate::kind::{EntityRef, Kind, PerKind};

/// Declaration of an entity to a face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Announced {
    pub(super) id: u32,
    pub(super) info: QueryableInfo,
}

/// The entities that a face knows, with the ids that this node gave it.
#[derive(Debug, Default)]
pub(super) struct AnnouncedIds {
    entities: PerKind<HashMap<u32, Announced>>,
    /// The highest id used so far.
    last: u32,
    /// Ids of the previous round that were in use when this round began. Empty in the first round.
    before: HashSet<u32>,
}

impl AnnouncedIds {
    pub(super) fn get(&self, EntityRef { kind, index }: EntityRef) -> Option<Announced> {
        self.entities.of(kind).get(&index).copied()
    }

    pub(super) fn insert(&mut self, EntityRef { kind, index }: EntityRef, announced: Announced) {
        self.entities.of_mut(kind).insert(index, announced);
    }

    pub(super) fn remove(&mut self, EntityRef { kind, index }: EntityRef) -> Option<Announced> {
        self.entities.of_mut(kind).remove(&index)
    }

    /// Returns the number of entities declared to the face.
    pub(super) fn len(&self) -> usize {
        self.entities.values().map(HashMap::len).sum()
    }

    /// Returns a fresh id: none that the face has for an entity, nor one of its ids of groups, which
    /// the iterator yields.
    pub(super) fn next_id(&mut self, others: impl Iterator<Item = u32>) -> u32 {
        let mut others = Some(others);
        loop {
            let id = self.last.wrapping_add(1).max(1);
            // Every id has been used once: the next round skips the ids that are in use now.
            if id < self.last
                && let Some(others) = others.take()
            {
                self.before = others.collect();
                let known = self.entities.values().flat_map(HashMap::values);
                self.before.extend(known.map(|known| known.id));
            }
            self.last = id;
            if !self.before.contains(&id) {
                return id;
            }
        }
    }

    /// Returns the entities of a kind that were declared to the face.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = (u32, QueryableInfo)> {
        let known = self.entities.of(kind).iter();
        known.map(|(index, known)| (*index, known.info))
    }

    /// Returns the entities that were declared to the face.
    pub(super) fn into_entities(self) -> impl Iterator<Item = EntityRef> {
        self.entities.into_each().flat_map(|(kind, known)| {
            let indexes = known.into_keys();
            indexes.map(move |index| EntityRef { kind, index })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_in_use_are_not_given_out_again() {
        let mut ids = AnnouncedIds::default();
        for (index, kind) in (0..).zip(Kind::ALL) {
            let id = ids.next_id(std::iter::empty());
            let info = QueryableInfo::default();
            ids.insert(EntityRef { kind, index }, Announced { id, info });
        }
        ids.last = u32::MAX - 1;
        let next: Vec<u32> = (0..3).map(|_| ids.next_id([5].into_iter())).collect();
        assert_eq!(next, [u32::MAX, 4, 6]);
    }
}
