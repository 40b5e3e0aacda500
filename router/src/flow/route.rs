// SPDX-License-Identifier: MIT OR Apache-2.0

//! Answers of the table, resolved: outboxes instead of face ids, callbacks instead of subscriber
//! ids.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use zonda_codec::{KeyExpr, Mapping, NodeId, PushHead, Qos, WireExpr, ZenohId};
use zonda_transport::outbox::Outbox;

use crate::{
    config::MessageKind,
    filter::FilteredRoute,
    flow::{key_cache::KeyCache, receiving::Sink},
    table::{self, Validity},
};

/// Destinations of messages on one key from one source, valid until a declaration changes the key.
pub(crate) struct Route {
    pub(crate) validity: Arc<Validity>,
    pub(crate) key: KeyExpr<'static>,
    pub(crate) remote: Box<[Hop]>,
    pub(crate) local: Box<[Sink]>,
    /// The route with its filters. If there are any, `remote` and `local` are empty here.
    pub(crate) filtered: Option<Box<FilteredRoute>>,
}

impl Route {
    /// Returns a route of no destination.
    pub(crate) fn nowhere(key: KeyExpr<'static>) -> Route {
        Route {
            validity: Default::default(),
            key,
            remote: Default::default(),
            local: Default::default(),
            filtered: None,
        }
    }

    /// Returns the route that messages of a kind take without a decision: this one, or the one behind
    /// filters that let all of these messages pass. `None` if filters decide about each.
    #[inline(always)]
    pub(crate) fn unfiltered(&self, kind: MessageKind) -> Option<&Route> {
        match &self.filtered {
            None => Some(self),
            Some(filtered) => filtered.unfiltered(kind).map(|route| &**route),
        }
    }

    /// Returns the bytes of memory that it holds, without what it shares with the node.
    pub(crate) fn memory(&self) -> usize {
        let (key, hops, sinks) = (self.key.as_str().len(), &self.remote, &self.local);
        let filtered = self
            .filtered
            .as_ref()
            .map_or(0, |filtered| filtered.memory());
        size_of::<Self>() + 2 * key + size_of_val(&**hops) + size_of_val(&**sinks) + filtered
    }

    /// Returns true if it leads to subscribers of this node.
    pub(crate) fn is_local(&self) -> bool {
        let filtered = self.filtered.as_ref().map(|filtered| filtered.route());
        !self.local.is_empty() || filtered.is_some_and(|route| route.is_local())
    }

    /// Returns true if it leads to neighbours.
    pub(crate) fn leads_beyond(&self) -> bool {
        match &self.filtered {
            Some(filtered) => filtered.route().leads_beyond(),
            None => !self.remote.is_empty(),
        }
    }

    /// Returns true if it has no destination.
    pub(crate) fn leads_nowhere(&self) -> bool {
        match &self.filtered {
            Some(filtered) => filtered.route().leads_nowhere(),
            None => self.remote.is_empty() && self.local.is_empty(),
        }
    }

    /// Returns true if it leads to a neighbour that is gone. Such a route is no longer used.
    fn is_of_the_gone(&self) -> bool {
        let filtered = self.filtered.as_ref().map(|filtered| filtered.route());
        self.remote.iter().any(|hop| hop.outbox.is_closed())
            || filtered.is_some_and(|route| route.is_of_the_gone())
    }

    /// Returns true if the table would still return the same route.
    #[inline(always)]
    pub(crate) fn holds(&self) -> bool {
        self.validity.holds()
    }
}

/// Neighbour on a route.
#[derive(Clone)]
pub(crate) struct Hop {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) zid: ZenohId,
    spelling: table::Hop,
}

impl Hop {
    pub(crate) fn new(outbox: Arc<Outbox>, zid: ZenohId, spelling: table::Hop) -> Self {
        Self {
            outbox,
            zid,
            spelling,
        }
    }

    /// Returns the head of messages on the key for this neighbour.
    #[inline]
    pub(crate) fn head(&self, qos: Qos) -> PushHead<'_> {
        PushHead::new(self.spelling.wire_expr(), qos, self.spelling.node_id)
    }
}

/// Cache of the routes of one connection's messages: an index for declared ids, bounded maps for
/// everything else.
///
/// [`sweep`](RouteCache::sweep) removes the routes to neighbours that are gone, slice by slice.
pub(crate) struct RouteCache {
    /// Routes by mapping, then by scope, for keys that are an id and nothing else.
    by_id: [Places; 2],
    /// Bytes of memory that these may hold.
    by_id_max: usize,
    /// Next route to evict: mapping and scope.
    goes_next: (usize, usize),
    /// Routes by the full key.
    by_key: KeyCache,
    /// Routes of the other keys, by mapping, scope and suffix in one text.
    by_text: KeyCache,
    /// Reused buffer of the text.
    text: String,
    sweep: Sweep,
    /// Bytes of memory that the cache holds; the node's memory accounting reads it.
    held: Arc<AtomicUsize>,
}

/// Routes by a small number.
#[derive(Default)]
pub(crate) struct Places {
    routes: Vec<Option<Arc<Route>>>,
    /// Bytes of memory that they hold.
    memory: usize,
}

impl Places {
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Arc<Route>> {
        self.routes.get(at)?.as_ref()
    }

    pub(crate) fn len(&self) -> usize {
        self.routes.len()
    }

    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) fn push(&mut self, route: Arc<Route>) {
        self.memory += route.memory();
        self.routes.push(Some(route));
    }

    /// Puts a route into a slot, which is made if need be; returns the previous one.
    pub(crate) fn put(&mut self, at: usize, route: Arc<Route>) -> Option<Arc<Route>> {
        if self.routes.len() <= at {
            self.routes.resize(at + 1, None);
        }
        let before = self.take(at);
        self.memory += route.memory();
        self.routes[at] = Some(route);
        before
    }

    /// Empties a slot.
    pub(crate) fn take(&mut self, at: usize) -> Option<Arc<Route>> {
        let route = self.routes.get_mut(at)?.take()?;
        self.memory -= route.memory();
        Some(route)
    }

    /// Drops the routes from slot `at` on that lead to neighbours that are gone; checks at most
    /// `count` slots and returns the number checked.
    fn sweep(&mut self, at: usize, count: usize) -> usize {
        let end = self.routes.len().min(at.saturating_add(count));
        for at in at..end {
            if self.get(at).is_some_and(|route| route.is_of_the_gone()) {
                drop(self.take(at));
            }
        }
        end.saturating_sub(at)
    }
}

/// Progress of the search for routes to neighbours that are gone.
#[derive(Default)]
struct Sweep {
    /// Number of neighbours that were gone when the search began.
    departed: u64,
    /// Table and slot to check next, while a search is under way.
    at: Option<(usize, usize)>,
}

/// Slots checked in one call.
const SWEEP_MAX: usize = 1024;

impl RouteCache {
    /// Makes an empty cache. It holds at most about `memory_max` bytes: half of them for keys that
    /// are an id. It stores the bytes that it holds in `held`.
    pub(crate) fn new(memory_max: usize, held: Arc<AtomicUsize>) -> Self {
        Self {
            by_id: Default::default(),
            by_id_max: memory_max / 2,
            goes_next: (0, 0),
            by_key: KeyCache::with_max(memory_max / 4),
            by_text: KeyCache::with_max(memory_max / 4),
            text: String::new(),
            sweep: Sweep::default(),
            held,
        }
    }

    fn say_held(&self) {
        self.held.store(self.memory(), Ordering::Relaxed);
    }

    /// Returns the bytes of memory that its routes hold.
    pub(crate) fn memory(&self) -> usize {
        self.by_id_memory() + self.by_key.memory() + self.by_text.memory()
    }

    /// Continues the search for routes to neighbours that are gone; `departed` is the number of
    /// neighbours that have gone so far. Callers do so now and then, with no lock held: a route may
    /// hold the last reference to a user's closure.
    #[inline]
    pub(crate) fn sweep(&mut self, departed: u64) {
        if self.sweep.at.is_some() || self.sweep.departed != departed {
            self.sweep_on(departed);
        }
    }

    #[cold]
    fn sweep_on(&mut self, departed: u64) {
        let (mut table, mut at) = self.sweep.at.unwrap_or_else(|| {
            self.sweep.departed = departed;
            (0, 0)
        });
        let [own, theirs] = &mut self.by_id;
        let [young_keys, old_keys] = self.by_key.places();
        let [young_texts, old_texts] = self.by_text.places();
        let mut tables = [own, theirs, young_keys, old_keys, young_texts, old_texts];
        let mut left = SWEEP_MAX;
        while left > 0
            && let Some(places) = tables.get_mut(table)
        {
            let seen = places.sweep(at, left);
            (left, at) = (left - seen, at + seen);
            if at >= places.len() {
                (table, at) = (table + 1, 0);
            }
        }
        self.sweep.at = (table < tables.len()).then_some((table, at));
        self.say_held();
    }

    /// Evicts routes of keys that are an id, until they hold no more than their limit.
    #[cold]
    fn make_room(&mut self) {
        while self.by_id_memory() > self.by_id_max {
            let (mapping, at) = self.goes_next;
            let places = &mut self.by_id[mapping];
            if at < places.len() {
                drop(places.take(at));
                self.goes_next.1 += 1;
            } else {
                self.goes_next = (1 - mapping, 0);
            }
        }
    }

    fn by_id_memory(&self) -> usize {
        self.by_id.iter().map(Places::memory).sum()
    }

    /// Returns the route for `expr` if it is known and still valid.
    #[inline]
    pub(crate) fn get(&mut self, expr: &WireExpr<'_>) -> Option<&Arc<Route>> {
        if expr.suffix.is_empty() {
            let routes = &self.by_id[mapping_index(expr.mapping)];
            let route = routes.get(usize::from(expr.scope));
            return route.filter(|route| route.holds());
        }
        if expr.scope == 0 {
            return self.by_key.get(expr.suffix);
        }
        write_text(&mut self.text, expr);
        self.by_text.get(&self.text)
    }

    /// Returns the route for `expr` of messages with this routing context, if it is known and still
    /// valid.
    pub(crate) fn get_from(&mut self, node_id: NodeId, expr: &WireExpr<'_>) -> Option<&Arc<Route>> {
        write_text(&mut self.text, expr);
        write_context(&mut self.text, node_id);
        self.by_text.get(&self.text)
    }

    /// Inserts the route of messages with this routing context.
    pub(crate) fn put_from(&mut self, node_id: NodeId, expr: &WireExpr<'_>, route: Arc<Route>) {
        write_text(&mut self.text, expr);
        write_context(&mut self.text, node_id);
        drop(self.by_text.put(&self.text, route));
        self.say_held();
    }

    /// Removes the routes of keys that are spelled with an id of the neighbour, which stands for
    /// another key from now on or for none.
    pub(crate) fn forget_id(&mut self, id: u16) {
        drop(self.by_id[mapping_index(Mapping::Sender)].take(usize::from(id)));
        self.by_text.clear();
    }

    /// Inserts a route.
    pub(crate) fn put(&mut self, expr: &WireExpr<'_>, route: Arc<Route>) {
        if expr.suffix.is_empty() {
            let routes = &mut self.by_id[mapping_index(expr.mapping)];
            drop(routes.put(usize::from(expr.scope), route));
            if self.by_id_memory() > self.by_id_max {
                self.make_room();
            }
        } else if expr.scope == 0 {
            drop(self.by_key.put(expr.suffix, route));
        } else {
            write_text(&mut self.text, expr);
            drop(self.by_text.put(&self.text, route));
        }
        self.say_held();
    }
}

fn mapping_index(mapping: Mapping) -> usize {
    match mapping {
        Mapping::Receiver => 0,
        Mapping::Sender => 1,
    }
}

/// Writes mapping and scope as two fixed characters in front of the suffix, so that every
/// expression has a text of its own.
fn write_text(text: &mut String, expr: &WireExpr<'_>) {
    text.clear();
    text.push(if expr.mapping == Mapping::Sender {
        's'
    } else {
        'r'
    });
    // scopes have 16 bits; the shift avoids the range of surrogates, which are no characters
    text.push(char::from_u32(u32::from(expr.scope) + 0x1_0000).unwrap_or('\0'));
    text.push_str(expr.suffix);
}

/// Appends a routing context behind a character that no key has.
fn write_context(text: &mut String, node_id: NodeId) {
    text.push('#');
    for half in [node_id.router(), node_id.trees()] {
        text.push(char::from_u32(u32::from(half) + 0x1_0000).unwrap_or('\0'));
    }
}

#[cfg(test)]
pub(crate) mod tests;
