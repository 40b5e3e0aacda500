// SPDX-License-Identifier: MIT OR Apache-2.0

//! Routes of keys without a declaration: a bounded cache that never forgets everything at once.

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::RandomState;

use crate::flow::route::{Places, Route};

/// Most keys of one generation. A cache has two, so it knows at least this many of the keys that
/// were used last.
const KEYS_MAX: usize = 16_384;

/// Most bytes of the keys and routes of one generation by default.
const MEMORY_MAX: usize = 8 << 20;

/// Cache of routes by their full key.
///
/// There are two generations. A key that is used is in the young one or moves there; once the young
/// one is full it becomes the old one, and the previous old one is dropped.
pub(crate) struct KeyCache {
    young: Generation,
    old: Generation,
    /// Bytes that one generation may hold.
    memory_max: usize,
}

impl Default for KeyCache {
    fn default() -> Self {
        Self::with_max(2 * MEMORY_MAX)
    }
}

/// Content that a cache has removed. A route may hold the last reference to a user's closure, so
/// the caller must not drop this value while it holds a lock.
#[derive(Default)]
#[must_use = "to be dropped without a lock"]
pub(crate) struct Forgotten {
    _generation: Generation,
    _route: Option<Arc<Route>>,
}

#[derive(Default)]
struct Generation {
    index: HashMap<Box<str>, usize, RandomState>,
    routes: Places,
    /// Total bytes of the keys.
    key_bytes: usize,
}

impl Generation {
    fn is_full(&self, memory_max: usize) -> bool {
        self.routes.len() >= KEYS_MAX || self.memory() >= memory_max
    }

    fn memory(&self) -> usize {
        self.key_bytes + self.routes.memory()
    }

    fn add(&mut self, key: Box<str>, route: Arc<Route>) {
        self.key_bytes += key.len();
        self.index.insert(key, self.routes.len());
        self.routes.push(route);
    }
}

impl KeyCache {
    /// Makes an empty cache. It holds at most about `memory_max` bytes, and one route beyond that.
    pub(crate) fn with_max(memory_max: usize) -> Self {
        Self {
            young: Generation::default(),
            old: Generation::default(),
            memory_max: memory_max / 2,
        }
    }

    /// Returns the bytes of memory that keys and routes hold.
    pub(crate) fn memory(&self) -> usize {
        self.young.memory() + self.old.memory()
    }

    /// Removes everything. The caller must hold no lock.
    pub(crate) fn clear(&mut self) {
        (self.young, self.old) = (Generation::default(), Generation::default());
    }

    /// Returns its routes, the young ones first.
    pub(crate) fn places(&mut self) -> [&mut Places; 2] {
        [&mut self.young.routes, &mut self.old.routes]
    }

    /// Returns the route of `key`, if it is known and still valid.
    #[inline]
    pub(crate) fn get(&mut self, key: &str) -> Option<&Arc<Route>> {
        let route = match self.young.index.get(key) {
            Some(index) => self.young.routes.get(*index),
            None => self.aged(key),
        };
        route.filter(|route| route.holds())
    }

    /// Returns the route of a key of the old generation, and moves it to the young one.
    #[cold]
    fn aged(&mut self, key: &str) -> Option<&Arc<Route>> {
        let index = *self.old.index.get(key)?;
        if self.young.is_full(self.memory_max) {
            // the next new key makes room
            return self.old.routes.get(index);
        }
        let route = self.old.routes.take(index)?;
        let (key, _) = self.old.index.remove_entry(key)?;
        self.old.key_bytes -= key.len();
        self.young.add(key, route);
        self.young.routes.get(self.young.routes.len() - 1)
    }

    /// Inserts the route of `key`.
    pub(crate) fn put(&mut self, key: &str, route: Arc<Route>) -> Forgotten {
        let mut forgotten = Forgotten::default();
        if let Some(&index) = self.young.index.get(key) {
            forgotten._route = self.young.routes.put(index, route);
            return forgotten;
        }
        if self.young.is_full(self.memory_max) {
            let full = std::mem::take(&mut self.young);
            forgotten._generation = std::mem::replace(&mut self.old, full);
        }
        self.young.add(key.into(), route);
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{FaceInfo, FaceKind, ForwardingTable, Own};
    use zonda_codec::{KeyExpr, WhatAmI, ZenohId};

    fn route() -> Arc<Route> {
        Arc::new(Route {
            validity: Default::default(),
            key: KeyExpr::new("k").expect("a key"),
            remote: Default::default(),
            local: Default::default(),
            filtered: None,
        })
    }

    fn key(number: usize) -> String {
        format!("a/key/{number}")
    }

    #[test]
    fn keys_in_turn_are_all_remembered() {
        let mut cache = KeyCache::default();
        for number in 0..10_000 {
            drop(cache.put(&key(number), route()));
        }
        for round in 0..5 {
            for number in 0..10_000 {
                let known = cache.get(&key(number)).is_some();
                assert!(known, "{number} in round {round}");
            }
        }
    }

    #[test]
    fn what_was_used_last_outlives_new_keys_and_the_rest_goes() {
        let mut cache = KeyCache::default();
        for number in 0..10 * KEYS_MAX {
            drop(cache.put(&key(number), route()));
            assert!(cache.get(&key(0)).is_some(), "used before {number}");
        }
        assert!(cache.get(&key(1)).is_none());
        let known = cache.young.routes.len() + cache.old.routes.len();
        assert!((KEYS_MAX..=2 * KEYS_MAX).contains(&known), "{known}");
    }

    #[test]
    fn long_keys_are_bounded_by_their_bytes() {
        let mut cache = KeyCache::default();
        let long = "k".repeat(MEMORY_MAX / 4);
        for number in 0..100 {
            drop(cache.put(&format!("{long}{number}"), route()));
        }
        assert!(cache.memory() <= 3 * MEMORY_MAX);
    }

    #[test]
    fn an_outdated_route_is_not_given_and_can_be_replaced() {
        let mut cache = KeyCache::default();
        let mut table = ForwardingTable::new(ZenohId::random_from(1), WhatAmI::Router);
        let key = KeyExpr::new("a").expect("a key");
        let face = FaceInfo {
            zid: ZenohId::random_from(2),
            whatami: WhatAmI::Client,
            kind: FaceKind::Local,
        };
        let face = table.add_face(face, &mut Vec::new());
        let validity = table.begin_route(face, key.clone(), None).validity();
        let outdated = Route {
            validity,
            key: key.clone(),
            remote: Default::default(),
            local: Default::default(),
            filtered: None,
        };
        drop(cache.put("a", Arc::new(outdated)));
        assert!(cache.get("a").is_some());
        table.local_declare(face.own(1), Own::SUBSCRIBER, &key, &mut Vec::new());
        assert!(cache.get("a").is_none());
        drop(cache.put("a", route()));
        assert!(cache.get("a").is_some());
        assert_eq!(cache.young.routes.len(), 1);
    }
}
