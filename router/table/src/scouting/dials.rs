// SPDX-License-Identifier: MIT OR Apache-2.0

//! Results of attempts to connect to the places that nodes were reported at, and the attempts that
//! may still be made.
//!
//! Any node may report any place. So a place that leads nowhere is tried for one node at a time,
//! each time later, and then not at all for a while; if another node answered than the one that was
//! named, the place is tried for that other node only in the next minute. Failures are counted for
//! each address and for each neighbour that named the nodes; a neighbour or address with too many
//! failures within a minute gets no more attempts until the minute is over.

use core::net::IpAddr;
use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use zonda_codec::{Locator, ZenohId};

use crate::scouting::host::socket_address;

/// Time for which failures are counted.
const WINDOW: Duration = Duration::from_secs(60);

/// Pause after the first failure at a place; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Time after which a place is forgotten.
const MEMORY: Duration = Duration::from_secs(600);

/// Number of stored places or budgets from which old ones are removed.
const REMEMBERED: usize = 4096;

/// Limits of failed attempts at nodes that were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DialLimits {
    /// Attempts at one address within a minute, those under way included. Default 16.
    pub per_address: u32,
    /// Attempts at nodes that one neighbour named, within a minute, those under way included.
    /// Default 64.
    pub per_neighbour: u32,
    /// Failures at one place in a row; then it is not tried for ten minutes. Default 8.
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

/// Outcome of an attempt at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The node that was named is there.
    Found,
    /// The node is there, and refuses this link as it needs none.
    Declined,
    /// Another node answered.
    Other(ZenohId),
    /// No link was opened.
    Failed,
}

/// Permission to try a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DialPermission {
    Now,
    At(Instant),
    /// Not before then, because too many attempts have failed within a minute.
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
    /// The neighbour that named the node of the attempt under way, if there is one.
    under_way: Option<Option<ZenohId>>,
}

/// Attempts that failed or are under way within the window.
#[derive(Debug)]
struct Budget {
    since: Instant,
    failed: u32,
    under_way: u32,
}

impl Budget {
    /// Returns the time at which one more is allowed.
    fn verdict(&self, max: u32, now: Instant) -> DialPermission {
        let is_over = now.saturating_duration_since(self.since) >= WINDOW;
        let failed = if is_over { 0 } else { self.failed };
        match failed + self.under_way < max.max(1) {
            true => DialPermission::Now,
            false if self.under_way > 0 && is_over => DialPermission::Spent(now + FIRST_PAUSE),
            false => DialPermission::Spent(self.since + WINDOW),
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

/// Places with their attempts, and the budgets.
#[derive(Debug, Default)]
pub(super) struct Dials {
    limits: DialLimits,
    places: HashMap<String, Place>,
    addresses: HashMap<IpAddr, Budget>,
    /// Budgets by the neighbour that named the node; `None` for nodes found by multicast.
    tellers: HashMap<Option<ZenohId>, Budget>,
}

impl Dials {
    pub(super) fn new(limits: DialLimits) -> Self {
        Dials {
            limits,
            ..Dials::default()
        }
    }

    /// Returns whether and when a place may be tried for `zid`.
    pub(super) fn verdict(
        &self,
        zid: &ZenohId,
        teller: Option<ZenohId>,
        locator: &Locator,
        now: Instant,
    ) -> DialPermission {
        // The place itself may be under way, paused, or known as another node's.
        let limits = &self.limits;
        if let Some(place) = self.places.get(locator.address().as_str())
            && now < place.not_before + MEMORY
        {
            let is_owner = place.owner == Some(*zid);
            if !is_owner && place.failures >= limits.failures_max {
                return DialPermission::Never;
            }
            if place.under_way.is_some() {
                return DialPermission::At(now + FIRST_PAUSE);
            }
            let owned_until = match place.owner {
                Some(_) if !is_owner => place.not_before + WINDOW,
                _ => place.not_before,
            };
            if now < owned_until {
                return DialPermission::At(owned_until);
            }
        }
        // Both budgets must allow the attempt; the later one counts.
        let address = address_of(locator).and_then(|ip| self.addresses.get(&ip));
        let budgets = [
            (address, limits.per_address),
            (self.tellers.get(&teller), limits.per_neighbour),
        ];
        let verdicts = budgets
            .into_iter()
            .filter_map(|(budget, max)| Some(budget?.verdict(max, now)));
        verdicts.fold(DialPermission::Now, |a, b| match (a, b) {
            (DialPermission::Spent(a), DialPermission::Spent(b)) => DialPermission::Spent(a.max(b)),
            (DialPermission::Now, other) | (other, _) => other,
        })
    }

    /// Begins an attempt at a place, if it may be tried.
    pub(super) fn begin(
        &mut self,
        zid: &ZenohId,
        teller: Option<ZenohId>,
        locator: &Locator,
        now: Instant,
    ) -> bool {
        if self.verdict(zid, teller, locator, now) != DialPermission::Now {
            return false;
        }
        // An old record of the place begins again.
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
        // The attempt counts in both budgets.
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

    /// Records the outcome of an attempt.
    pub(super) fn ended(&mut self, locator: &Locator, outcome: Outcome, now: Instant) {
        let Some(place) = self.places.get_mut(locator.address().as_str()) else {
            return;
        };
        let Some(teller) = place.under_way.take() else {
            return;
        };
        // The place itself remembers its owner and its next time.
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
        // The budgets count the failure.
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
