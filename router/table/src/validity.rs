// SPDX-License-Identifier: MIT OR Apache-2.0

//! Validity of kept routes: until a change on their key.
//!
//! A cache that keeps a route holds the [`Validity`] of its key, one for all routes on it, and
//! reads it with every message. The table has the keys of kept routes in a tree, so a change is
//! looked up there like a message among subscribers, and ends the validity of the keys that it
//! intersects. An ended key is removed at once; the search for a new route is charged to its
//! source. If the lookup would take long, or more keys are kept than there is room for, routes may
//! end that were still valid; no route stays valid that should have ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    key_tree::{KeyTree, owner::Owner, steps::Steps},
    slots::Slots,
};

/// True if the routes on a key are still those of the table.
#[derive(Debug, Default)]
pub struct Validity {
    is_over: AtomicBool,
}

impl Validity {
    /// Returns the validity of a route that is not to be kept.
    pub(super) fn over() -> Arc<Self> {
        Arc::new(Validity {
            is_over: AtomicBool::new(true),
        })
    }

    /// Returns true until a change may alter a route on the key.
    #[inline(always)]
    pub fn holds(&self) -> bool {
        !self.is_over.load(Ordering::Acquire)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// Steps of a search for the keys that a change intersects. If they do not suffice, all routes end.
const STEPS: usize = 4096;

/// Neighbours of a key that are recorded one by one.
const FACES_MAX: usize = 8;

/// Keys of kept routes.
#[derive(Debug, Default)]
pub(super) struct KeptKeys {
    tree: KeyTree<u32>,
    keys: Slots<KeptKey>,
    count: usize,
    /// Validity of the routes on all keys beyond the limit.
    others: Arc<Validity>,
    /// Number of the next key to be checked for users.
    hand: u32,
    /// Bound of the numbers in use.
    top: u32,
}

#[derive(Debug)]
struct KeptKey {
    /// Its place in the tree.
    place: u32,
    validity: Arc<Validity>,
    /// Slots of the neighbours on its routes; `None` if they are many.
    faces: Option<Vec<u32>>,
}

impl KeptKeys {
    /// Returns the validity of a route on `key` whose search begins now.
    pub(super) fn keep(&mut self, key: &str, keys_max: usize) -> Arc<Validity> {
        if let Some(&index) = self.tree.get(key).first()
            && let Some(kept) = self.keys.get(index)
        {
            return Arc::clone(&kept.validity);
        }
        // Each new key makes room for two.
        for _ in 0..2 {
            self.forget_next();
        }
        if self.count >= keys_max {
            return Arc::clone(&self.others);
        }
        // Insert the key.
        let place = self.tree.place(key);
        let validity = Arc::new(Validity::default());
        let index = self.keys.insert(KeptKey {
            place,
            validity: Arc::clone(&validity),
            faces: Some(Vec::new()),
        });
        self.tree.insert_at(place, index);
        self.top = self.top.max(index + 1);
        self.count += 1;
        validity
    }

    /// Removes the next key if no cache holds its validity.
    fn forget_next(&mut self) {
        let index = self.hand;
        self.hand = (index + 1) % self.top.max(1);
        let kept = self.keys.get(index);
        if kept.is_some_and(|kept| Arc::strong_count(&kept.validity) == 1) {
            self.end(index);
        }
    }

    /// Returns the approximate bytes of memory that it holds.
    pub(super) fn memory(&self) -> usize {
        self.tree.memory() + self.count * (size_of::<KeptKey>() + size_of::<Validity>() + 32)
    }

    /// Returns the cost of all searches so far.
    pub(super) fn steps(&self) -> u64 {
        self.tree.steps()
    }

    /// Records that a route on `key` leads to the neighbours at these slots.
    pub(super) fn note(
        &mut self,
        key: &str,
        validity: &Arc<Validity>,
        places: impl Iterator<Item = u32>,
    ) {
        let index = self.tree.get(key).first();
        let kept = index.and_then(|index| self.keys.get_mut(*index));
        let Some(kept) = kept.filter(|kept| Arc::ptr_eq(&kept.validity, validity)) else {
            return;
        };
        for place in places {
            match &mut kept.faces {
                Some(faces) if faces.contains(&place) => {}
                Some(faces) if faces.len() < FACES_MAX => faces.push(place),
                faces => *faces = None,
            }
        }
    }

    /// Ends the routes on one key and removes it.
    fn end(&mut self, index: u32) {
        if let Some(kept) = self.keys.remove(index) {
            kept.validity.end();
            self.tree.remove_at(kept.place, index, |_| Owner::NOBODY);
            self.count -= 1;
        }
    }

    pub(super) fn end_all(&mut self) {
        for index in 0..self.top {
            if let Some(kept) = self.keys.get(index) {
                kept.validity.end();
            }
        }
        let steps = self.tree.steps();
        *self = KeptKeys {
            others: std::mem::take(&mut self.others),
            ..KeptKeys::default()
        };
        self.tree.count(steps);
        self.end_others();
    }

    /// Ends the routes on keys beyond the limit.
    fn end_others(&mut self) {
        if Arc::strong_count(&self.others) > 1 {
            std::mem::take(&mut self.others).end();
        }
    }

    /// Ends the routes on the keys that a search found, or all routes if it was not complete.
    fn end_these(&mut self, found: Option<Vec<u32>>) {
        match found {
            Some(found) => {
                found.into_iter().for_each(|index| self.end(index));
                self.end_others();
            }
            None => self.end_all(),
        }
    }

    pub(super) fn end_meeting(&mut self, key: &str) {
        if self.tree.is_empty() {
            return self.end_others();
        }
        let (mut found, steps) = (Vec::new(), Steps::new(STEPS));
        let is_all = self
            .tree
            .matches_within(key, &steps, &mut |index| found.push(index));
        self.end_these(is_all.then_some(found));
    }

    pub(super) fn end_exactly(&mut self, key: &str) {
        let found = self.tree.get(key).to_vec();
        self.end_these(Some(found));
    }

    /// Ends the routes on keys below `prefix` that lead to a slot. Routes on keys beyond the limit
    /// end too.
    pub(super) fn end_below(&mut self, prefix: &str, place: u32) {
        let (mut found, steps) = (Vec::new(), Steps::new(STEPS));
        let is_all = self.tree.each_below(prefix, &steps, &mut |index| {
            if self
                .keys
                .get(index)
                .is_some_and(|kept| kept.leads_to(place))
            {
                found.push(index);
            }
        });
        self.end_these(is_all.then_some(found));
    }

    /// Ends the routes that lead to a slot.
    pub(super) fn end_towards(&mut self, place: u32) {
        let leads = |index: &u32| {
            let kept = self.keys.get(*index);
            kept.is_some_and(|kept| kept.leads_to(place))
        };
        let found = (0..self.top).filter(leads).collect();
        self.end_these(Some(found));
    }
}

impl KeptKey {
    fn leads_to(&self, place: u32) -> bool {
        let faces = self.faces.as_ref();
        faces.is_none_or(|faces| faces.contains(&place))
    }
}
