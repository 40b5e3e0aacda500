// SPDX-License-Identifier: MIT OR Apache-2.0

//! Entities by the ids that a neighbour gave them. Neighbours count upwards, so most ids are found
//! by index, in the order of their declarations; ids out of order cost an entry in a hash table.

use std::collections::HashMap;

/// Mark of an index without an entity. No entity has this number.
const NONE: u32 = u32::MAX;

/// A map from ids to entities.
#[derive(Debug, Default)]
pub(super) struct IdMap {
    /// Entities by index. The vector is at most about twice as long as there were ids when it grew.
    dense: Vec<u32>,
    sparse: HashMap<u32, u32>,
    len: usize,
}

impl IdMap {
    /// Returns the number of ids.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, id: u32) -> Option<u32> {
        match self.dense.get(id as usize) {
            Some(&entity) if entity != NONE => Some(entity),
            // no hash of the id is computed while the table is empty
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&id).copied(),
        }
    }

    /// Inserts an entity under an id; returns the previous one.
    pub(super) fn insert(&mut self, id: u32, entity: u32) -> Option<u32> {
        if let Some(known) = self.place(id) {
            return Some(std::mem::replace(known, entity));
        }
        self.len += 1;
        let index = id as usize;
        if index >= self.dense.len() && index < 2 * self.len + 16 {
            self.dense.resize(index + 1, NONE);
        }
        match self.dense.get_mut(index) {
            Some(place) => *place = entity,
            None => drop(self.sparse.insert(id, entity)),
        }
        None
    }

    pub(super) fn remove(&mut self, id: u32) -> Option<u32> {
        let entity = match self.dense.get_mut(id as usize) {
            Some(place) if *place != NONE => std::mem::replace(place, NONE),
            _ => self.sparse.remove(&id)?,
        };
        self.len -= 1;
        if self.len == 0 {
            *self = IdMap::default();
        }
        while self.dense.last() == Some(&NONE) {
            self.dense.pop();
        }
        Some(entity)
    }

    /// Removes the ids for whose entities `keep` returns false.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        let gone: Vec<u32> = self
            .iter()
            .filter(|(_, entity)| !keep(*entity))
            .map(|(id, _)| id)
            .collect();
        for id in gone {
            self.remove(id);
        }
    }

    /// Returns the ids and entities, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let dense = (0..).zip(self.dense.iter().copied());
        let sparse = self.sparse.iter().map(|(id, entity)| (*id, *entity));
        dense.filter(|(_, entity)| *entity != NONE).chain(sparse)
    }

    /// Returns the entities: those found by index first, in the order of their ids.
    pub(super) fn into_entities(self) -> impl Iterator<Item = u32> {
        let dense = self.dense.into_iter().filter(|entity| *entity != NONE);
        dense.chain(self.sparse.into_values())
    }

    fn place(&mut self, id: u32) -> Option<&mut u32> {
        match self.dense.get_mut(id as usize) {
            Some(place) if *place != NONE => Some(place),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get_mut(&id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a number without a pattern.
    fn mix(number: u32) -> u32 {
        let mixed = (number ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b);
        (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae35)
    }

    #[test]
    fn it_is_a_map_whatever_the_ids() {
        let spreads: [fn(u32) -> u32; 5] = [
            |n| n % 50,
            |n| n,
            |n| mix(n) % 300,
            |n| mix(n / 2),
            |n| n % 40 * 1_000 + mix(n) % 3,
        ];
        for spread in spreads {
            let (mut map, mut model) = (IdMap::default(), HashMap::new());
            for step in 0..3000 {
                let (id, entity) = (spread(step), mix(step) >> 1);
                if mix(step + 7).is_multiple_of(3) {
                    assert_eq!(map.remove(id), model.remove(&id));
                } else {
                    assert_eq!(map.insert(id, entity), model.insert(id, entity));
                }
                assert_eq!(map.get(id), model.get(&id).copied());
                assert_eq!(map.len(), model.len());
            }
            map.retain(|entity| entity.is_multiple_of(2));
            model.retain(|_, entity| entity.is_multiple_of(2));
            assert_eq!(map.iter().collect::<HashMap<_, _>>(), model);
            let mut entities: Vec<u32> = map.into_entities().collect();
            let mut expected: Vec<u32> = model.into_values().collect();
            entities.sort_unstable();
            expected.sort_unstable();
            assert_eq!(entities, expected);
        }
    }

    #[test]
    fn ids_in_a_row_are_kept_by_index_and_others_cost_no_room() {
        let mut map = IdMap::default();
        for id in 1..=1000 {
            map.insert(id, id);
        }
        assert!(map.sparse.is_empty());
        map.insert(u32::MAX, 1);
        map.insert(1 << 20, 1);
        assert_eq!((map.sparse.len(), map.dense.len()), (2, 1001));
        for id in 1..=1000 {
            map.remove(id);
        }
        assert_eq!((map.len(), map.dense.len()), (2, 0));
    }
}
