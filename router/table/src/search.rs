// SPDX-License-Identifier: MIT OR Apache-2.0

//! Searches among the entities of a kind, in slices, so that neither a large table nor a long key
//! holds the table's lock for longer than a slice takes.
//!
//! A search goes through the tree as long as the tree loses no node between two slices. If it does,
//! the entities are visited one after another by their numbers, which needs no place in the tree.
//! Either way an entity that exists from the first slice to the last is found, perhaps twice.

use std::ops::ControlFlow;

use crate::{
    entity::EntityTree,
    key_tree::{
        owner::Owner,
        pattern::Pattern,
        steps::Steps,
        walk::{Reached, Walk},
    },
};

/// Steps of one slice, some tenths of a millisecond.
pub const SLICE_STEPS: usize = 4096;

/// Steps in the tree to list all matches. If they do not suffice, entities are visited one after another.
const LIST_STEPS: usize = 20_000;

/// Number of entities of a list that are visited in a slice, with long keys counting for more than one.
pub(super) const SLICE_LOOKS: usize = 10_000;

/// Rest of a list of entities whose keys match, in the order of their numbers. An entity that
/// exists all the time is listed once.
#[derive(Debug)]
pub(super) enum Listing {
    /// These, with their keys, as a number may have been reused in between. The last comes first.
    These(Vec<(u32, Box<str>)>),
    /// All matches from this number on.
    From {
        number: u32,
        /// Slot of the face whose entities are left out if no other face declared them.
        except: Option<u32>,
    },
}

impl Listing {
    /// Returns the list of all matches from this number on.
    pub(super) const fn from(number: u32) -> Self {
        let except = None;
        Listing::From { number, except }
    }

    /// Returns the number that the list continues with; `None` at its end.
    pub(super) fn next_number(&self, entities: &EntityTree) -> Option<u32> {
        match self {
            Listing::These(these) => these.last().map(|(entity, _)| *entity),
            Listing::From { number, .. } => (*number < entities.places()).then_some(*number),
        }
    }
}

/// State of a suspended search.
#[derive(Debug)]
pub(super) enum Search {
    /// In the tree.
    Tree(Walk),
    /// At the entity of this number.
    From {
        place: u32,
        /// Slot of the face whose entities are left out if no other face declared them.
        except: Option<u32>,
    },
}

impl Search {
    /// Returns a search that leaves out the entities that this face alone has declared.
    pub(super) fn except(slot: u32) -> Self {
        Search::Tree(Walk::except(Some(Owner::face(slot))))
    }

    /// Returns a search by numbers, from the first.
    pub(super) const fn by_number() -> Self {
        let (place, except) = (0, None);
        Search::From { place, except }
    }
}

impl Default for Search {
    fn default() -> Self {
        Search::Tree(Walk::default())
    }
}

impl EntityTree {
    /// Returns the entities whose keys intersect `key`, or all without a key, except those that the
    /// face at `except` alone has declared. The cost is taken from `looks`.
    pub(super) fn list(
        &self,
        key: Option<&str>,
        except: Option<u32>,
        looks: &mut usize,
    ) -> Listing {
        // List all matches in the tree, with their keys.
        let (mut these, steps) = (Vec::new(), Steps::new(LIST_STEPS));
        let mut note = |entity| {
            if !self.is_alone(entity, except) {
                these.extend(self.key(entity).map(|key| (entity, key.into())));
            }
        };
        let owner = except.map(Owner::face);
        let is_all = match key {
            Some(key) => {
                let mut found = |entities: &[u32]| {
                    entities.iter().for_each(|entity| note(*entity));
                    ControlFlow::Continue(())
                };
                let (pattern, mut walk) = (Pattern::new(key), Walk::except(owner));
                let reached = self.tree().search(&pattern, &mut walk, &steps, &mut found);
                reached == Reached::End
            }
            None => self.tree().each_except(owner, &steps, &mut note),
        };
        // If the tree has too many nodes for that, go through the numbers later.
        *looks = looks.saturating_sub(steps.spent());
        if !is_all {
            return Listing::From { number: 0, except };
        }
        these.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        Listing::These(these)
    }

    /// Returns the next entity of a list; `None` at its end, or if `looks` is used up.
    pub(super) fn next_listed(
        &self,
        listing: &mut Listing,
        pattern: Option<&Pattern<'_>>,
        looks: &mut usize,
    ) -> Option<u32> {
        match listing {
            // A number may have been reused for another key since it was listed.
            Listing::These(these) => {
                while *looks > 0
                    && let Some((entity, key)) = these.pop()
                {
                    *looks -= 1;
                    if self.has_key(entity, &key) {
                        return Some(entity);
                    }
                }
            }
            Listing::From { number, except } => {
                // Without a list, the keys are compared now.
                let (words, mut key) = (pattern.map_or(0, Pattern::words), String::new());
                while *number < self.places() && *looks > 0 {
                    let entity = *number;
                    *number += 1;
                    if self.is_alone(entity, *except) {
                        *looks -= 1;
                        continue;
                    }
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

    /// Calls `found` with entities whose keys intersect `key`, until it breaks or the steps are
    /// over; false if more are left.
    pub(super) fn search(
        &self,
        key: &str,
        search: &mut Search,
        steps: &Steps,
        found: &mut impl FnMut(u32) -> ControlFlow<()>,
    ) -> bool {
        // Search in the tree for as long as it loses no nodes.
        let pattern = Pattern::new(key);
        if let Search::Tree(walk) = search {
            let found =
                &mut |entities: &[u32]| entities.iter().try_for_each(|entity| found(*entity));
            match self.tree().search(&pattern, walk, steps, found) {
                Reached::End => return true,
                Reached::Pause => return false,
                Reached::Nowhere => {
                    let (place, except) = (0, walk.passes_over());
                    *search = Search::From { place, except };
                }
            }
        }
        let Search::From { place, except } = search else {
            return true;
        };
        // Then go through the numbers.
        let before = steps.spent();
        let mut text = String::new();
        let end = self.places();
        while *place < end {
            let entity = *place;
            *place += 1;
            if self.is_alone(entity, *except) {
                steps.spend(1);
            } else {
                let exists = self.write_key(entity, &mut text);
                let meets = exists && pattern.meets(&text);
                steps.spend(1 + text.len() / 8 + pattern.take_work());
                if meets && found(entity).is_break() {
                    *place = end;
                }
            }
            // A call with a spent budget has looked at one entity, so that the search ends some time.
            if steps.are_over() {
                break;
            }
        }
        self.tree().count((steps.spent() - before) as u64);
        *place >= end
    }
}
