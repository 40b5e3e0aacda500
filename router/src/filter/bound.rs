// SPDX-License-Identifier: MIT OR Apache-2.0

//! Filters that are bound to a neighbour, a direction and a key, and their cache.

use std::{collections::HashMap, sync::Arc};

use foldhash::fast::RandomState;
use zonda_codec::Qos;

use crate::config::{Flow, MessageKind};

use super::{
    contract::{BoundFilter, Decision, MessageView},
    drops::Drops,
};

/// The filters of messages of one neighbour, direction and key; `None` if all of them pass.
pub(crate) type Bound = Option<Arc<BoundFilters>>;

/// All filters of messages of one neighbour, direction and key, in their order.
pub(crate) struct BoundFilters {
    each: Box<[Box<dyn BoundFilter>]>,
    flow: Flow,
    drops: Arc<Drops>,
}

impl BoundFilters {
    pub(super) fn new(each: Box<[Box<dyn BoundFilter>]>, flow: Flow, drops: &Arc<Drops>) -> Self {
        let drops = Arc::clone(drops);
        BoundFilters { each, flow, drops }
    }

    /// Returns true if one of them may change, drop or note a message of a kind.
    fn are_for(&self, kind: MessageKind) -> bool {
        self.each.iter().any(|filter| !filter.lets_all_pass(kind))
    }
}

/// Returns the filters if they are for messages of a kind; else `None`, as all of these pass.
pub(super) fn of_kind(bound: &Bound, kind: MessageKind) -> Bound {
    bound
        .as_ref()
        .filter(|filters| filters.are_for(kind))
        .cloned()
}

/// Returns the QoS with which a message passes the filters, which decide once each, on the result of
/// the one before; `None` if one of them drops it, which is counted.
#[inline]
pub(crate) fn decide(bound: &Bound, mut message: MessageView) -> Option<Qos> {
    let Some(bound) = bound else {
        return Some(message.qos);
    };
    for filter in &bound.each {
        match filter.decide(&message) {
            Decision::Pass => {}
            Decision::PassAs(qos) => message.qos = qos,
            Decision::Drop(reason) => {
                bound.drops.count(reason, bound.flow, &message);
                return None;
            }
        }
    }
    Some(message.qos)
}

/// Most bytes of one generation of a cache, each key with [`OVERHEAD`].
const BYTES_MAX: usize = 128 * 1024;

/// Bytes that an entry is charged in addition to its key.
const OVERHEAD: usize = 128;

/// Bound filters of one neighbour, by direction.
#[derive(Default)]
pub(crate) struct BoundCaches {
    each: [BoundCache; 2],
    /// Number of the node's filters that they were bound from.
    number: u64,
}

impl BoundCaches {
    /// Returns the cache of a direction, without those that were bound from other filters than
    /// those with this number.
    pub(super) fn of(&mut self, number: u64, flow: Flow) -> &mut BoundCache {
        if self.number != number {
            let each = Default::default();
            *self = BoundCaches { each, number };
        }
        &mut self.each[flow as usize]
    }
}

/// Bound filters of one neighbour and direction by key; the key without a value has no text.
///
/// There are two generations: a full one becomes the old one, and the previous old one is dropped.
pub(crate) struct BoundCache<T = Bound> {
    young: HashMap<Box<str>, T, RandomState>,
    old: HashMap<Box<str>, T, RandomState>,
    /// Bytes of the young generation.
    bytes: usize,
}

impl<T> Default for BoundCache<T> {
    fn default() -> Self {
        BoundCache {
            young: HashMap::default(),
            old: HashMap::default(),
            bytes: 0,
        }
    }
}

impl<T> BoundCache<T> {
    /// Returns the bound filters of `key`, if they are known. Those of the old generation move to
    /// the young one.
    pub(super) fn get(&mut self, key: &str) -> Option<&T> {
        if !self.young.contains_key(key) {
            let (_, bound) = self.old.remove_entry(key)?;
            self.insert(key, bound);
        }
        self.young.get(key)
    }

    pub(super) fn insert(&mut self, key: &str, bound: T) {
        if self.bytes >= BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += key.len() + OVERHEAD;
        self.young.insert(key.into(), bound);
    }
}
