// SPDX-License-Identifier: MIT OR Apache-2.0

//! Searches among the entities of a kind, in slices: nobody's key, and nobody's table, keeps the others waiting for longer
//! than a slice takes.
//!
//! A search goes through the tree as long as the tree loses no node between two slices. If it does, the entities are looked
//! at one after another by their numbers, which needs no place in the tree. Either way what exists from the first slice to the
//! last is found, if need be twice.

use std::ops::ControlFlow;

use crate::table::{
    entity::EntityTree,
    key_tree::{
        pattern::Pattern,
        steps::Steps,
        walk::{Reached, Walk},
    },
};

/// Steps of one slice, some tenths of a millisecond.
pub const SLICE_STEPS: usize = 4096;

/// Where a search goes on.
#[derive(Debug)]
pub(super) enum Search {
    /// In the tree.
    Tree(Walk),
    /// At the entity of this number.
    From(u32),
}

impl Default for Search {
    fn default() -> Self {
        Search::Tree(Walk::default())
    }
}

impl EntityTree {
    /// Calls `found` with entities whose keys intersect `key`, until it wants no more or the steps are over; false if there
    /// is more to look at.
    pub(super) fn search(
        &self,
        key: &str,
        search: &mut Search,
        steps: &Steps,
        found: &mut impl FnMut(u32) -> ControlFlow<()>,
    ) -> bool {
        let pattern = Pattern::new(key);
        if let Search::Tree(walk) = search {
            let found =
                &mut |entities: &[u32]| entities.iter().try_for_each(|entity| found(*entity));
            match self.tree().search(&pattern, walk, steps, found) {
                Reached::End => return true,
                Reached::Pause => return false,
                Reached::Nowhere => *search = Search::From(0),
            }
        }
        let Search::From(place) = search else {
            return true;
        };
        let before = steps.spent();
        let mut text = String::new();
        let end = self.places();
        while *place < end && !steps.are_over() {
            let entity = *place;
            *place += 1;
            let exists = self.write_key(entity, &mut text);
            let meets = exists && pattern.meets(&text);
            steps.spend(1 + text.len() / 8 + pattern.take_work());
            if meets && found(entity).is_break() {
                *place = end;
            }
        }
        self.tree().count((steps.spent() - before) as u64);
        *place >= end
    }
}
