// SPDX-License-Identifier: MIT OR Apache-2.0

//! Declared publisher: one key with a cached route.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use zonda_codec::{EntityGlobalId, KeyExpr};

use crate::{
    flow::{
        cached_route::CachedRoute,
        numbering::{Number, NumberedPut, Numbering, Unnumbered},
        plain::{HeaderTemplates, KindTemplates, Publishing},
        publish, resolve,
        route::Route,
        send_result::{Accepted, Plain, SendResult},
        tally::{PublisherCounts, Tallies},
    },
    model::{DeclareError, Outcome, Publication, PublishError, Wait},
    node::{sessions::NodeSession, shared::Shared},
    notify::{
        listeners::{Listen, ListenerId},
        matching::{self, Sender},
    },
    table::{Counterpart, Kind, Locality, Reach},
};

thread_local! {
    /// Routes of the publishers that this thread used last, by their serial number. Taking one out
    /// and putting it back costs no atomic operation, unlike loading it from a shared place with
    /// every message.
    static RECENT: [Cell<Option<Box<ThreadCache>>>; RECENT_MAX] = const { [const { Cell::new(None) }; RECENT_MAX] };
}

/// Number of publishers whose route a thread caches; a power of two.
const RECENT_MAX: usize = 8;

/// Route of a publisher in a thread's cache. Boxed, so that taking it and putting it back moves one
/// word.
struct ThreadCache {
    serial: u64,
    way: CachedRoute,
    /// Prepared heads of its plain messages.
    prepared: HeaderTemplates,
}

/// Next serial number of a publisher in this process.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Publisher on one key. Dropping it undeclares it, without blocking.
pub struct PublisherFace {
    shared: Arc<Shared>,
    id: u32,
    session: Arc<NodeSession>,
    destination: Reach,
    serial: u64,
    route: ArcSwap<Route>,
    tallies: Tallies,
}

impl std::fmt::Debug for PublisherFace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PublisherFace")
            .field("key", &self.route.load().key)
            .finish_non_exhaustive()
    }
}

impl PublisherFace {
    pub(crate) fn declare(
        shared: &Arc<Shared>,
        session: &Arc<NodeSession>,
        key: &KeyExpr<'_>,
        destination: Locality,
    ) -> Result<Self, DeclareError> {
        if session.is_closed() {
            return Err(DeclareError::Closed);
        }
        let destination = session.reach(destination);
        let id = shared.declare_sending(key, destination, Kind::Subscriber)?;
        let key = key.clone().into_owned();
        let route = resolve::resolve(shared, shared.local, key, Some(id), destination);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            shared: Arc::clone(shared),
            session: Arc::clone(session),
            id,
            destination,
            serial,
            route: ArcSwap::new(route),
            tallies: Tallies::default(),
        })
    }

    /// Publishes a message.
    ///
    /// Cost with one neighbour and no local subscriber: one atomic load to check that the route is
    /// still valid, one lane lock, one copy of a small payload; no allocation.
    ///
    /// # Errors
    /// The fate of the message; see [`PublishError`].
    ///
    /// # Blocking
    /// At most for the time of `wait` under congestion control `Block`, else never.
    #[inline]
    pub fn publish(
        &self,
        publication: &Publication<'_>,
        wait: Wait,
    ) -> Result<Outcome, PublishError> {
        let cache = match self.take_cache() {
            Some(cache) => cache,
            None => self.new_cache()?,
        };
        let result = match publication.points {
            0 => publish::dispatch(&self.shared, &cache.way.route, publication, wait),
            _ => publish::dispatch_stacked(&self.shared, &cache.way.route, publication, wait),
        };
        let bytes = publication.payload.size();
        match result {
            Ok(Outcome::Sent) => cache.way.tally.count(Accepted::Sent, bytes),
            Ok(Outcome::Queued) => cache.way.tally.count(Accepted::Queued, bytes),
            Ok(Outcome::NoSubscriber) => cache.way.tally.count(Accepted::NoSubscriber, bytes),
            _ => cache.way.tally.count_other(bytes, &result),
        }
        self.keep_cache(cache);
        result
    }

    /// Publishes like [`PublisherFace::publish`], for a message with only a payload and perhaps its
    /// `number` at this publisher: the heads of such messages are prepared, one for each neighbour.
    ///
    /// # Blocking
    /// See [`PublisherFace::publish`].
    #[inline(always)]
    pub fn publish_plain(&self, plain: &Plain<'_>, number: Option<u32>, wait: Wait) -> SendResult {
        match number {
            None => self.send_unnumbered(plain, wait),
            Some(number) => self.send_numbered(plain, number, wait),
        }
    }

    fn send_unnumbered(&self, plain: &Plain<'_>, wait: Wait) -> SendResult {
        let numbering = Unnumbered;
        self.send_plain(NumberedPut { plain, numbering }, wait)
    }

    fn send_numbered(&self, plain: &Plain<'_>, number: u32, wait: Wait) -> SendResult {
        let numbering = Number(number);
        self.send_plain(NumberedPut { plain, numbering }, wait)
    }

    /// Publishes like [`PublisherFace::publish_plain`] if one neighbour takes the message without
    /// waiting. Otherwise does nothing and returns `None`: [`PublisherFace::publish_async`] can wait
    /// asynchronously, and reports the cause.
    pub fn try_publish_plain(&self, plain: &Plain<'_>) -> Option<Outcome> {
        let numbering = Unnumbered;
        let message = NumberedPut { plain, numbering };
        // a valid cached route, or a new one
        let mut cache = match self.take_cache() {
            Some(cache) => cache,
            // such a route is never cached, and would be made anew for each message
            None if self.route.load().is_local() => return None,
            None => self.new_cache().ok()?,
        };
        // the first plain message prepares the heads
        if cache.prepared.plain.is_none() {
            self.prepare(&mut cache, message);
        }
        let ThreadCache { way, prepared, .. } = &mut *cache;
        let payload = plain.payload.as_slice();
        let heads = prepared.plain.as_mut();
        let ready = heads.and_then(|heads| heads.of(message, payload.len()));
        // try once, and cache the route again
        let passed = ready.and_then(|ready| {
            self.publishing(way)
                .dispatch_plain_at_once(ready, message, payload)
        });
        self.keep_cache(cache);
        passed.map(Outcome::from)
    }

    #[inline(always)]
    fn send_plain<L: Numbering>(&self, message: NumberedPut<'_, L>, wait: Wait) -> SendResult {
        let passing = RECENT.try_with(|slots| {
            let slot = &slots[self.slot()];
            // only this thread uses the slot, and a callback of this call finds it empty
            let mut cache = slot.take().filter(|cache| self.holds(cache))?;
            let passing = self.send_prepared(&mut cache, message, wait);
            slot.set(Some(cache));
            passing
        });
        match passing {
            Ok(Some(passing)) => passing,
            _ => self.send_unprepared(message, wait),
        }
    }

    /// Publishes with the heads that this thread has; `None` if they do not fit, and nothing was
    /// done.
    #[inline(always)]
    fn send_prepared<L: Numbering>(
        &self,
        cache: &mut ThreadCache,
        message: NumberedPut<'_, L>,
        wait: Wait,
    ) -> Option<SendResult> {
        let ThreadCache { way, prepared, .. } = cache;
        let payload = message.plain.payload.as_slice();
        let ready = L::place(prepared).as_mut()?.of(message, payload.len())?;
        Some(
            self.publishing(way)
                .dispatch_plain(ready, message, payload, wait),
        )
    }

    #[inline(always)]
    fn publishing<'p>(&'p self, way: &'p CachedRoute) -> Publishing<'p> {
        Publishing {
            shared: &self.shared,
            way,
        }
    }

    /// Prepares the heads and caches them, or publishes without.
    #[inline(never)]
    fn send_unprepared<L: Numbering>(&self, message: NumberedPut<'_, L>, wait: Wait) -> SendResult {
        let cache = self.take_cache().map_or_else(|| self.new_cache(), Ok);
        let mut cache = match cache {
            Ok(cache) => cache,
            Err(error) => return SendResult::refused(error),
        };
        if L::place(&mut cache.prepared).is_none() {
            self.prepare(&mut cache, message);
        }
        let passing = self.send_prepared(&mut cache, message, wait);
        let passing =
            passing.unwrap_or_else(|| self.publishing(&cache.way).dispatch_unusual(message, wait));
        self.keep_cache(cache);
        passing
    }

    /// Prepares the heads of messages like this one.
    #[cold]
    fn prepare<L: Numbering>(&self, cache: &mut ThreadCache, message: NumberedPut<'_, L>) {
        let ThreadCache { way, prepared, .. } = cache;
        // a route with local subscribers is not cached, so nothing is prepared for it
        *L::place(prepared) =
            (!way.route.is_local()).then(|| KindTemplates::new(&self.shared, way, message));
    }

    #[cold]
    fn new_cache(&self) -> Result<Box<ThreadCache>, PublishError> {
        Ok(Box::new(ThreadCache {
            serial: self.serial,
            way: CachedRoute {
                route: self.renewed()?,
                tally: self.tallies.take(),
                source: self.id(),
            },
            prepared: HeaderTemplates::default(),
        }))
    }

    /// Takes this thread's cached route, if there is one that is still valid.
    #[inline(always)]
    fn take_cache(&self) -> Option<Box<ThreadCache>> {
        let cache = RECENT
            .try_with(|cache| cache[self.slot()].take())
            .ok()
            .flatten()?;
        self.holds(&cache).then_some(cache)
    }

    /// Returns true if `cache` belongs to this publisher, and its route is valid.
    #[inline(always)]
    fn holds(&self, cache: &ThreadCache) -> bool {
        cache.serial == self.serial && cache.way.route.holds()
    }

    /// Caches the route for [`Self::take_cache`]. Routes with local subscribers are not cached: their
    /// closures must not outlive the subscribers because a thread once published.
    #[inline(always)]
    fn keep_cache(&self, cache: Box<ThreadCache>) {
        if !cache.way.route.is_local() {
            // a thread that is ending caches nothing any more
            let _ = RECENT.try_with(|slots| slots[self.slot()].set(Some(cache)));
        }
    }

    #[inline]
    fn slot(&self) -> usize {
        self.serial as usize % RECENT_MAX
    }

    /// Publishes a message; under congestion control `Block` it waits asynchronously for room, at
    /// most `limit`.
    ///
    /// # Errors
    /// See [`PublisherFace::publish`].
    ///
    /// # Cancel safety
    /// A future that is dropped has published to some neighbours or to none.
    pub async fn publish_async(
        &self,
        publication: &Publication<'_>,
        limit: Duration,
    ) -> Result<Outcome, PublishError> {
        let route = self.renewed()?;
        self.tallies.offer(publication.payload.size());
        let result = match publication.points {
            0 => publish::dispatch_async(&self.shared, &route, publication, limit).await,
            _ => publish::dispatch_async_stacked(&self.shared, &route, publication, limit).await,
        };
        self.tallies.decide(&result);
        result
    }

    /// Returns the counts of its messages' fates so far.
    #[must_use]
    pub fn counters(&self) -> PublisherCounts {
        self.tallies.counts()
    }

    /// Returns its id among all entities.
    #[must_use]
    pub fn id(&self) -> EntityGlobalId {
        EntityGlobalId {
            zid: self.shared.zid,
            eid: self.id,
        }
    }

    /// Returns true if any subscriber is known that a message would reach.
    #[must_use]
    pub fn has_matching_subscribers(&self) -> bool {
        let key = &self.route.load().key;
        let audience = Counterpart::Subscribers.within(self.destination);
        matching::has_counterpart(&self.shared, key, audience)
    }

    /// Returns true if a message would be sent now: to a known subscriber, or to a gateway that has
    /// not yet answered if it knows one.
    #[must_use]
    pub fn has_route(&self) -> bool {
        self.renewed().is_ok_and(|route| !route.leads_nowhere())
    }

    /// Reports to `listener` if any subscriber is known that a message would reach: at once if
    /// there is one, and then each change. The listener ends with the publisher.
    ///
    /// # Errors
    /// The node is closed.
    pub fn declare_matching_listener(
        &self,
        listener: Arc<dyn Listen>,
    ) -> Result<ListenerId, DeclareError> {
        let key = &self.route.load().key;
        let audience = Counterpart::Subscribers.within(self.destination);
        let sender = Sender {
            id: self.id,
            key,
            audience,
        };
        matching::declare_matching(&self.shared, &self.session, &sender, listener)
    }

    /// Returns the route for the present state of the table. The end of a session invalidates all
    /// routes, so its publishers come here.
    #[cold]
    fn renewed(&self) -> Result<Arc<Route>, PublishError> {
        let route = self.route.load_full();
        if route.holds() {
            return Ok(route);
        }
        if self.session.is_closed() {
            return Err(PublishError::Closed);
        }
        let (shared, key) = (&self.shared, route.key.clone());
        let renewed = resolve::resolve(shared, shared.local, key, Some(self.id), self.destination);
        self.route.store(Arc::clone(&renewed));
        Ok(renewed)
    }
}

impl Drop for PublisherFace {
    fn drop(&mut self) {
        let shared = &self.shared;
        if shared.is_forked() {
            return;
        }
        drop(self.take_cache());
        shared.update(|state| {
            let own = shared.own(self.id);
            state.table.undeclare_local_sender(own, &mut state.actions);
        });
    }
}
