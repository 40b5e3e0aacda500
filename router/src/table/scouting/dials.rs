// SPDX-License-Identifier: MIT OR Apache-2.0

//! The results of attempts to connect to the places that nodes were said to be at, and the attempts that may still be made.
//!
//! Anybody may say that a node is anywhere. So a place that leads nowhere is tried by one node at a time, each time later,
//! and then not at all for a while; where another node answered than the one that was named, that other one alone is looked
//! for in the next minute. Failures are counted for each address and for each neighbour that named the nodes; who has caused too many within a
//! minute causes no more until it is over.

use core::net::IpAddr;
use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use zonda_codec::{Locator, ZenohId};

use crate::table::scouting::host::socket_address;

/// Failures are counted for so long.
const WINDOW: Duration = Duration::from_secs(60);

/// The pause after the first failure at a place; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The time after which a place is forgotten.
const MEMORY: Duration = Duration::from_secs(600);

/// Places and others that are remembered before those that are old are looked for.
const REMEMBERED: usize = 4096;

/// The number of attempts at nodes that were heard of that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DialLimits {
    /// At one address within a minute, those under way included. Default 16.
    pub per_address: u32,
    /// At nodes that one neighbour named, within a minute, those under way included. Default 64.
    pub per_neighbour: u32,
    /// At one place in a row; then it is not tried for ten minutes. Default 8.
    pub failures_max: u32,
}

impl Default for DialLimits {
    fn default() -> Self {
        DialLimits {
            per_address: 16,
            per_neighbour: 64,
            failures_max: 8,
        }
    }
}

/// The end of an attempt at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The node that was named is there.
    Found,
    /// It is there, and has no need of this link.
    Declined,
    /// Another node answered.
    Other(ZenohId),
    /// Nothing came of it.
    Failed,
}

/// The answer to the question if a place may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Now,
    At(Instant),
    /// Not before then, because too many have failed within a minute.
    Spent(Instant),
    /// Not for this node.
    Never,
}

#[derive(Debug)]
struct Place {
    failures: u32,
    not_before: Instant,
    /// The node that answered there.
    owner: Option<ZenohId>,
    /// Under way, for a node that this neighbour named.
    under_way: Option<Option<ZenohId>>,
}

/// The attempts that failed or are under way within the window.
#[derive(Debug)]
struct Budget {
    since: Instant,
    failed: u32,
    under_way: u32,
}

impl Budget {
    /// When one more is allowed.
    fn verdict(&self, max: u32, now: Instant) -> Verdict {
        let is_over = now.saturating_duration_since(self.since) >= WINDOW;
        let failed = if is_over { 0 } else { self.failed };
        match failed + self.under_way < max.max(1) {
            true => Verdict::Now,
            false if self.under_way > 0 && is_over => Verdict::Spent(now + FIRST_PAUSE),
            false => Verdict::Spent(self.since + WINDOW),
        }
    }

    fn begin(&mut self, now: Instant) {
        if now.saturating_duration_since(self.since) >= WINDOW {
            (self.since, self.failed) = (now, 0);
        }
        self.under_way += 1;
    }

    fn end(&mut self, has_failed: bool) {
        self.under_way = self.under_way.saturating_sub(1);
        self.failed += u32::from(has_failed);
    }
}

/// The places that are known.
#[derive(Debug, Default)]
pub(super) struct Dials {
    limits: DialLimits,
    places: HashMap<String, Place>,
    addresses: HashMap<IpAddr, Budget>,
    /// By the neighbour that named the node; `None` for those found by multicast.
    tellers: HashMap<Option<ZenohId>, Budget>,
}

impl Dials {
    pub(super) fn new(limits: DialLimits) -> Self {
        Dials {
            limits,
            ..Dials::default()
        }
    }

    /// Tells if `zid` may be looked for at a place now.
    pub(super) fn verdict(
        &self,
        zid: &ZenohId,
        teller: Option<ZenohId>,
        locator: &Locator,
        now: Instant,
    ) -> Verdict {
        let limits = &self.limits;
        if let Some(place) = self.places.get(locator.address().as_str())
            && now < place.not_before + MEMORY
        {
            let is_owner = place.owner == Some(*zid);
            if !is_owner && place.failures >= limits.failures_max {
                return Verdict::Never;
            }
            if place.under_way.is_some() {
                return Verdict::At(now + FIRST_PAUSE);
            }
            let owned_until = match place.owner {
                Some(_) if !is_owner => place.not_before + WINDOW,
                _ => place.not_before,
            };
            if now < owned_until {
                return Verdict::At(owned_until);
            }
        }
        let address = address_of(locator).and_then(|ip| self.addresses.get(&ip));
        let budgets = [
            (address, limits.per_address),
            (self.tellers.get(&teller), limits.per_neighbour),
        ];
        let verdicts = budgets
            .into_iter()
            .filter_map(|(budget, max)| Some(budget?.verdict(max, now)));
        verdicts.fold(Verdict::Now, |a, b| match (a, b) {
            (Verdict::Spent(a), Verdict::Spent(b)) => Verdict::Spent(a.max(b)),
            (Verdict::Now, other) | (other, _) => other,
        })
    }

    /// An attempt at a place begins, if it may.
    pub(super) fn begin(
        &mut self,
        zid: &ZenohId,
        teller: Option<ZenohId>,
        locator: &Locator,
        now: Instant,
    ) -> bool {
        if self.verdict(zid, teller, locator, now) != Verdict::Now {
            return false;
        }
        self.forget(now);
        let place = self.places.entry(locator.address().to_string());
        let place = place.or_insert(Place {
            failures: 0,
            not_before: now,
            owner: None,
            under_way: None,
        });
        if now >= place.not_before + MEMORY {
            (place.failures, place.owner) = (0, None);
        }
        place.under_way = Some(teller);
        let fresh = || Budget {
            since: now,
            failed: 0,
            under_way: 0,
        };
        if let Some(ip) = address_of(locator) {
            self.addresses.entry(ip).or_insert_with(fresh).begin(now);
        }
        self.tellers.entry(teller).or_insert_with(fresh).begin(now);
        true
    }

    /// It has ended.
    pub(super) fn ended(&mut self, locator: &Locator, outcome: Outcome, now: Instant) {
        let Some(place) = self.places.get_mut(locator.address().as_str()) else {
            return;
        };
        let Some(teller) = place.under_way.take() else {
            return;
        };
        let has_failed = matches!(outcome, Outcome::Failed | Outcome::Other(_));
        match outcome {
            Outcome::Found => (place.failures, place.owner) = (0, None),
            Outcome::Declined => place.not_before = now + FIRST_PAUSE,
            Outcome::Other(owner) => {
                place.owner = Some(owner);
                place.failures += 1;
                place.not_before = now;
            }
            Outcome::Failed => {
                let pause = FIRST_PAUSE * 2u32.saturating_pow(place.failures).min(64);
                place.failures += 1;
                place.not_before = now + pause;
            }
        }
        if let Some(budget) = address_of(locator).and_then(|ip| self.addresses.get_mut(&ip)) {
            budget.end(has_failed);
        }
        if let Some(budget) = self.tellers.get_mut(&teller) {
            budget.end(has_failed);
        }
    }

    fn forget(&mut self, now: Instant) {
        if self.places.len() >= REMEMBERED {
            let is_new = |place: &Place| now < place.not_before + MEMORY;
            self.places
                .retain(|_, place| place.under_way.is_some() || is_new(place));
        }
        forget_old(&mut self.addresses, now);
        forget_old(&mut self.tellers, now);
    }
}

fn forget_old<K: Eq + Hash>(budgets: &mut HashMap<K, Budget>, now: Instant) {
    if budgets.len() >= REMEMBERED {
        let is_new = |budget: &Budget| now.saturating_duration_since(budget.since) < WINDOW;
        budgets.retain(|_, budget| budget.under_way > 0 || is_new(budget));
    }
}

fn address_of(locator: &Locator) -> Option<IpAddr> {
    socket_address(locator).map(|at| at.ip().to_canonical())
}
