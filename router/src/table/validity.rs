// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long a route that somebody keeps is good: until something happens on its key.
//!
//! A cache that keeps a route holds the [`Validity`] of its key, one for all routes on it, and looks at it with every message. The
//! table knows the keys on which routes are kept, as a tree, so a change is looked up there like a message among subscribers,
//! and ends the validity of the keys that it meets. What is ended is forgotten at once; the search for a new
//! route is charged to its source. Where looking would take long, or more keys are kept than there is room for, routes end that might have gone on;
//! none goes on that should have ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::table::{
    key_tree::{KeyTree, owner::Owner, steps::Steps},
    slots::Slots,
};

/// Whether the routes on a key are still what the table would say.
#[derive(Debug, Default)]
pub struct Validity {
    is_over: AtomicBool,
}

impl Validity {
    /// True until something has happened that may alter a route on the key.
    #[inline(always)]
    pub fn holds(&self) -> bool {
        !self.is_over.load(Ordering::Acquire)
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// Steps to find the keys that a change meets. With more to look at, all routes end.
const STEPS: usize = 4096;

/// Neighbours of a key that are known one by one.
const FACES_MAX: usize = 8;

/// The keys on which routes are kept.
#[derive(Debug, Default)]
pub(super) struct KeptKeys {
    tree: KeyTree<u32>,
    keys: Slots<KeptKey>,
    count: usize,
    /// Of the keys there is no room for.
    others: Arc<Validity>,
    /// Where to look next for a key that nobody keeps a route on any more.
    hand: u32,
    /// All places in use are below this one.
    top: u32,
}

#[derive(Debug)]
struct KeptKey {
    /// Where it is in the tree.
    place: u32,
    validity: Arc<Validity>,
    /// The places of the neighbours on its routes; `None` if they are many.
    faces: Option<Vec<u32>>,
}

impl KeptKeys {
    /// The validity of a route on `key` that is looked for now.
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

    /// Forgets the next key if nobody keeps a route on it.
    fn forget_next(&mut self) {
        let index = self.hand;
        self.hand = (index + 1) % self.top.max(1);
        let kept = self.keys.get(index);
        if kept.is_some_and(|kept| Arc::strong_count(&kept.validity) == 1) {
            self.end(index);
        }
    }

    /// Bytes of memory that it holds, about.
    pub(super) fn memory(&self) -> usize {
        self.tree.memory() + self.count * (size_of::<KeptKey>() + size_of::<Validity>() + 32)
    }

    /// What all searches so far have cost.
    pub(super) fn steps(&self) -> u64 {
        self.tree.steps()
    }

    /// Notes that a route on `key` leads to the neighbours at these places.
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

    /// Ends one.
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

    /// Ends the keys that there was no room for.
    fn end_others(&mut self) {
        if Arc::strong_count(&self.others) > 1 {
            std::mem::take(&mut self.others).end();
        }
    }

    /// Ends those that were found, or all where not everything was looked at.
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

    /// Ends those on keys below `prefix` that lead to a place. Says nothing of the keys that there was no room for.
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

    /// Ends those that lead to a place.
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
