// SPDX-License-Identifier: MIT OR Apache-2.0

//! A declared publisher: one key, its route at hand.

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
        label::{Label, Labelled, Number, Unlabelled},
        passing::{Passed, Passing, Plain},
        plain::{Heads, Prepared},
        route::Route,
        tally::{PublisherCounts, Tallies},
        way::Way,
    },
    model::{DeclareError, Outcome, Publication, PublishError, Wait},
    node::shared::Shared,
    notify::listeners::{Listen, ListenerId},
    table::{Counterpart, Kind, Locality},
};

thread_local! {
    /// The routes of the publishers that this thread used last, by their serial number. Taking one out and putting
    /// it back costs no atomic operation, as asking a shared place for it would with every message.
    static RECENT: [Cell<Option<Box<Recent>>>; RECENT_MAX] = const { [const { Cell::new(None) }; RECENT_MAX] };
}

/// Publishers whose route a thread keeps at hand; a power of two.
const RECENT_MAX: usize = 8;

/// A publisher's route at a thread's hand. Boxed, so that taking it and putting it back moves one word.
struct Recent {
    serial: u64,
    way: Way,
    /// The heads of its plain messages.
    prepared: Prepared,
}

/// Numbers the publishers of a process.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Publishes on one key. Dropping it undeclares it, without blocking.
pub struct PublisherFace {
    shared: Arc<Shared>,
    id: u32,
    destination: Locality,
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
        key: &KeyExpr<'_>,
        destination: Locality,
    ) -> Result<Self, DeclareError> {
        let id = shared.declare_sending(key, destination, Kind::Subscriber)?;
        let key = key.clone().into_owned();
        let route = shared.resolve(shared.local, key, Some(id), destination);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            shared: Arc::clone(shared),
            id,
            destination,
            serial,
            route: ArcSwap::new(route),
            tallies: Tallies::default(),
        })
    }

    /// Publishes a message.
    ///
    /// Cost with one neighbour and no local subscriber: one atomic load to see that the route still holds, one lane
    /// lock, one copy of a small payload; no allocation.
    ///
    /// # Errors
    /// The fate of the message; see [`PublishError`].
    ///
    /// # Blocking
    /// Under congestion control `Block` at most as long as `wait` says, else never.
    #[inline]
    pub fn publish(
        &self,
        publication: &Publication<'_>,
        wait: Wait,
    ) -> Result<Outcome, PublishError> {
        let recent = self.at_hand().unwrap_or_else(|| self.renewed_recent());
        let result = self.shared.dispatch(&recent.way.route, publication, wait);
        let bytes = publication.payload.size();
        match result {
            Ok(Outcome::Sent) => recent.way.tally.count(Passed::Sent, bytes),
            Ok(Outcome::Queued) => recent.way.tally.count(Passed::Queued, bytes),
            Ok(Outcome::NoSubscriber) => recent.way.tally.count(Passed::Nobody, bytes),
            _ => recent.way.tally.count_other(bytes, &result),
        }
        self.keep_at_hand(recent);
        result
    }

    /// As [`PublisherFace::publish`], for a message that has nothing beside its payload: the heads of such messages are
    /// prepared, one for each neighbour.
    ///
    /// # Blocking
    /// As [`PublisherFace::publish`].
    pub fn publish_plain(&self, plain: &Plain<'_>, wait: Wait) -> Passing {
        let label = Unlabelled;
        self.publish_labelled(Labelled { plain, label }, wait)
    }

    /// The same for a message that says as well that it is the one of this `number` from this publisher.
    ///
    /// # Blocking
    /// As [`PublisherFace::publish`].
    pub fn publish_numbered(&self, plain: &Plain<'_>, number: u32, wait: Wait) -> Passing {
        let label = Number(number);
        self.publish_labelled(Labelled { plain, label }, wait)
    }

    /// As [`PublisherFace::publish_plain`] where one neighbour takes the message without waiting. Else nothing is done, and the
    /// answer is `None`: [`PublisherFace::publish_async_within`] can wait by waker, and says what went wrong.
    pub fn publish_plain_at_once(&self, plain: &Plain<'_>) -> Option<Outcome> {
        let label = Unlabelled;
        let message = Labelled { plain, label };
        let mut recent = match self.at_hand() {
            Some(recent) => recent,
            // It would not be kept, and made anew for each message.
            None if self.route.load().is_local() => return None,
            None => self.renewed_recent(),
        };
        if recent.prepared.plain.is_none() {
            self.prepare(&mut recent, message);
        }
        let Recent { way, prepared, .. } = &mut *recent;
        let payload = plain.payload.as_slice();
        let heads = prepared.plain.as_mut();
        let ready = heads.and_then(|heads| heads.of(message, payload.len()));
        let passed = ready
            .and_then(|ready| (self.shared).dispatch_plain_at_once(way, ready, message, payload));
        self.keep_at_hand(recent);
        passed.map(Outcome::from)
    }

    #[inline(always)]
    fn publish_labelled<L: Label>(&self, message: Labelled<'_, L>, wait: Wait) -> Passing {
        let passing = RECENT.try_with(|slots| {
            let slot = &slots[self.slot()];
            // Nobody else uses it meanwhile, also not what this call itself may call.
            let mut recent = slot.take().filter(|recent| self.holds(recent))?;
            let passing = self.publish_prepared(&mut recent, message, wait);
            slot.set(Some(recent));
            passing
        });
        match passing {
            Ok(Some(passing)) => passing,
            _ => self.publish_unprepared(message, wait),
        }
    }

    /// Publishes with the heads that this thread has; `None` if they do not fit, and nothing was done.
    #[inline(always)]
    fn publish_prepared<L: Label>(
        &self,
        recent: &mut Recent,
        message: Labelled<'_, L>,
        wait: Wait,
    ) -> Option<Passing> {
        let Recent { way, prepared, .. } = recent;
        let payload = message.plain.payload.as_slice();
        let ready = L::place(prepared).as_mut()?.of(message, payload.len())?;
        Some((self.shared).dispatch_plain(way, ready, message, payload, wait))
    }

    /// Prepares what a thread keeps at hand, or does without.
    #[inline(never)]
    fn publish_unprepared<L: Label>(&self, message: Labelled<'_, L>, wait: Wait) -> Passing {
        let mut recent = self.at_hand().unwrap_or_else(|| self.renewed_recent());
        if L::place(&mut recent.prepared).is_none() {
            self.prepare(&mut recent, message);
        }
        let passing = self.publish_prepared(&mut recent, message, wait);
        let passing =
            passing.unwrap_or_else(|| (self.shared).dispatch_unusual(&recent.way, message, wait));
        self.keep_at_hand(recent);
        passing
    }

    /// The heads of messages like this one.
    #[cold]
    fn prepare<L: Label>(&self, recent: &mut Recent, message: Labelled<'_, L>) {
        let Recent { way, prepared, .. } = recent;
        // A route with local subscribers is not kept, so nothing is prepared for it.
        *L::place(prepared) =
            (!way.route.is_local()).then(|| Heads::new(&self.shared, way, message));
    }

    #[cold]
    fn renewed_recent(&self) -> Box<Recent> {
        Box::new(Recent {
            serial: self.serial,
            way: Way {
                route: self.renewed(),
                tally: self.tallies.take(),
                source: self.id(),
            },
            prepared: Prepared::default(),
        })
    }

    /// This thread's own copy of the route, if it has one that still holds.
    #[inline(always)]
    fn at_hand(&self) -> Option<Box<Recent>> {
        let recent = RECENT
            .try_with(|recent| recent[self.slot()].take())
            .ok()
            .flatten()?;
        self.holds(&recent).then_some(recent)
    }

    /// Tells if it is this publisher's, and its route that of now.
    #[inline(always)]
    fn holds(&self, recent: &Recent) -> bool {
        recent.serial == self.serial && recent.way.route.holds()
    }

    /// Puts the route where [`Self::at_hand`] finds it. Not one with local subscribers: their closures must not
    /// outlive them because a thread once published.
    #[inline(always)]
    fn keep_at_hand(&self, recent: Box<Recent>) {
        if !recent.way.route.is_local() {
            // A thread that is ending keeps nothing any more.
            let _ = RECENT.try_with(|slots| slots[self.slot()].set(Some(recent)));
        }
    }

    #[inline]
    fn slot(&self) -> usize {
        self.serial as usize % RECENT_MAX
    }

    /// Publishes a message; under congestion control `Block` it waits for room by waker.
    ///
    /// # Errors
    /// As [`PublisherFace::publish`].
    ///
    /// # Cancel safety
    /// A future that is dropped has published to some neighbours or to none.
    pub async fn publish_async(
        &self,
        publication: &Publication<'_>,
    ) -> Result<Outcome, PublishError> {
        self.publish_async_within(publication, self.shared.settings.wait_before_close)
            .await
    }

    /// As [`PublisherFace::publish_async`], waiting at most `limit`.
    ///
    /// # Errors
    /// As [`PublisherFace::publish`].
    pub async fn publish_async_within(
        &self,
        publication: &Publication<'_>,
        limit: Duration,
    ) -> Result<Outcome, PublishError> {
        let route = self.renewed();
        self.tallies.offer(publication.payload.size());
        let result = self.shared.dispatch_async(&route, publication, limit).await;
        self.tallies.decide(&result);
        result
    }

    /// Counts the fates of its messages so far.
    #[must_use]
    pub fn counters(&self) -> PublisherCounts {
        self.tallies.counts()
    }

    /// Its id among all entities.
    #[must_use]
    pub fn id(&self) -> EntityGlobalId {
        EntityGlobalId {
            zid: self.shared.zid,
            eid: self.id,
        }
    }

    /// Tells if any subscriber is known that a message would reach.
    #[must_use]
    pub fn has_matching_subscribers(&self) -> bool {
        let key = &self.route.load().key;
        let audience = Counterpart::Subscribers.within(self.destination);
        self.shared.has_counterpart(key, audience)
    }

    /// Tells if a message would go to anybody now: to a subscriber that is known, or to a gateway that has not said yet whether it
    /// knows one.
    #[must_use]
    pub fn has_route(&self) -> bool {
        !self.renewed().leads_nowhere()
    }

    /// Tells `listener` whether any subscriber is known that a message would reach: that there is one if there is, and
    /// then of each change. It ends with the publisher.
    ///
    /// # Errors
    /// The node is closed.
    pub fn declare_matching_listener(
        &self,
        listener: Arc<dyn Listen>,
    ) -> Result<ListenerId, DeclareError> {
        let key = &self.route.load().key;
        let audience = Counterpart::Subscribers.within(self.destination);
        self.shared
            .declare_matching(self.id, key, audience, listener)
    }

    /// The route for the table as it is now.
    #[cold]
    fn renewed(&self) -> Arc<Route> {
        let route = self.route.load_full();
        if route.holds() {
            return route;
        }
        let (shared, key) = (&self.shared, route.key.clone());
        let renewed = shared.resolve(shared.local, key, Some(self.id), self.destination);
        self.route.store(Arc::clone(&renewed));
        renewed
    }
}

impl Drop for PublisherFace {
    fn drop(&mut self) {
        let shared = &self.shared;
        if shared.is_forked() {
            return;
        }
        drop(self.at_hand());
        shared.update(|state| {
            let own = shared.own(self.id);
            state.table.undeclare_local_sender(own, &mut state.actions);
        });
    }
}
