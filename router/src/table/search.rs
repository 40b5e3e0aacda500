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

/// Steps in the tree to list what matches. With more to look at, entities are looked at one after another.
const LIST_STEPS: usize = 20_000;

/// How many entities of a list are looked at in a slice, long keys counting for more than one.
pub(super) const SLICE_LOOKS: usize = 10_000;

/// What is left of a list of entities whose keys match, in the order of their numbers. What exists all the time is
/// listed once.
#[derive(Debug)]
pub(super) enum Listing {
    /// These, with their keys, as a number may have got another entity meanwhile. The last comes first.
    These(Vec<(u32, Box<str>)>),
    /// Whatever matches from this number on.
    From(u32),
}

impl Listing {
    /// The number that the list goes on with; `None` at its end.
    pub(super) fn next_number(&self, entities: &EntityTree) -> Option<u32> {
        match self {
            Listing::These(these) => these.last().map(|(entity, _)| *entity),
            Listing::From(number) => (*number < entities.places()).then_some(*number),
        }
    }
}

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
    /// Those whose keys intersect `key`; all of them without a key.
    pub(super) fn list(&self, key: Option<&str>) -> Listing {
        let mut these = Vec::new();
        let is_all = key.is_some_and(|key| {
            let steps = Steps::new(LIST_STEPS);
            self.tree().matches_within(key, &steps, &mut |entity| {
                these.extend(self.key(entity).map(|key| (entity, key.into())));
            })
        });
        if !is_all {
            return Listing::From(0);
        }
        these.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        Listing::These(these)
    }

    /// The next of a list; `None` at its end, or where no more may be looked at.
    pub(super) fn next_listed(
        &self,
        listing: &mut Listing,
        pattern: Option<&Pattern<'_>>,
        looks: &mut usize,
    ) -> Option<u32> {
        match listing {
            Listing::These(these) => {
                while let Some((entity, key)) = these.pop() {
                    if self.has_key(entity, &key) {
                        return Some(entity);
                    }
                }
            }
            Listing::From(number) => {
                let (words, mut key) = (pattern.map_or(0, Pattern::words), String::new());
                while *number < self.places() && *looks > 0 {
                    let entity = *number;
                    *number += 1;
                    let exists = self.write_key(entity, &mut key);
                    *looks = looks.saturating_sub(1 + key.len() * words / 64);
                    if exists && pattern.is_none_or(|pattern| pattern.meets(&key)) {
                        return Some(entity);
                    }
                }
            }
        }
        None
    }

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
