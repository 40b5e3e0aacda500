// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries of the session that wait for somebody to ask, rather than end without an answer because a link is
//! missing just now.
//!
//! A client without a gateway holds every query: it knows no other node. Peers and routers go on with those
//! they know. Only while a neighbour is to be connected again soon (a link that this node opened was lost, at most
//! [`ABSENCE_MAX`] ago) do they hold a query for which nobody is known: who would answer may be that neighbour. Queries of other
//! nodes are never held, they hold their own.
//!
//! A gateway that is back may have forgotten everything, and the node that would answer behind it may not be back yet. So for
//! [`SETTLING`] a query for which nobody is known waits on: the gateway is asked to tell of queryables on its key, and
//! the query goes out when there is one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{KeyExpr, Target, WhatAmI, ZenohId};

use crate::table::{
    Action, Deadline, Locality,
    forwarding::ForwardingTable,
    query::{Branches, Ended, Ending, NewQuery, destinations::Destination},
};

/// How long a neighbour that was lost is expected back.
pub(super) const ABSENCE_MAX: Duration = Duration::from_secs(10);

/// How long others that lost the same gateway may take to connect to it again: the longest pause between two attempts
/// where nothing else is configured, four seconds, and one for the attempt.
pub(super) const SETTLING: Duration = Duration::from_secs(5);

/// How many queries wait for others behind a gateway that is back. Each may be an interest there, and is looked at with
/// every queryable that comes. More are asked at once.
const SETTLING_MAX: usize = 1000;

/// Whether a gateway that was lost is back, and others may not be yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Settling {
    #[default]
    No,
    /// One has come; the time begins when somebody says what time it is.
    Begins,
    Until(Instant),
}

/// A neighbour that is expected back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Absent {
    zid: ZenohId,
    until: Instant,
}

/// What is remembered of a query to ask it later.
#[derive(Debug)]
pub(super) struct Held {
    key: KeyExpr<'static>,
    target: Target,
    querier: Option<u32>,
    destination: Locality,
    /// What makes gateways tell of those who would answer.
    pub(super) want: Option<u32>,
}

impl ForwardingTable {
    /// The link to this neighbour was lost and is being restored. To be called before the neighbour is removed.
    pub fn expect_back(&mut self, zid: ZenohId, now: Instant) {
        let mut gateways = self
            .gateways
            .iter()
            .filter_map(|slot| self.faces.get(*slot));
        if gateways.any(|gateway| gateway.info.zid == zid) {
            self.queries.lacks_gateway = true;
        }
        let until = now + ABSENCE_MAX;
        self.queries.absent.retain(|absent| absent.zid != zid);
        self.queries.absent.push(Absent { zid, until });
    }

    /// Whether [`release_held`](Self::release_held) may have something to do.
    #[inline]
    pub fn may_release_held(&self) -> bool {
        self.queries.held_stale && !self.queries.held.is_empty()
    }

    /// The held queries that can be asked now, by number, and the faces they go to. Those that there is nothing to wait
    /// for any more are among the [ended](Self::take_ended).
    pub fn release_held(&mut self, now: Instant) -> Vec<(u32, Branches)> {
        self.note_time(now);
        self.queries.held_stale = false;
        let mut released = Vec::new();
        let queries: Vec<u32> = self.queries.held.keys().copied().collect();
        for query in queries {
            let Some(origin) = self.queries.open.get(query).map(|open| open.origin()) else {
                continue;
            };
            let Some(held) = self.queries.held.remove(&query) else {
                continue;
            };
            let new = NewQuery {
                rid: origin.rid,
                key: &held.key,
                target: held.target,
                qos: origin.qos,
                timeout: Duration::ZERO,
                querier: held.querier,
                destination: held.destination,
            };
            let found = self.destinations_of_query(origin.face, &new);
            if self.is_to_hold(&found, now) {
                self.keep_held(query, held);
                continue;
            }
            self.queries.unwatched.extend(held.want);
            if found.is_empty() {
                self.close_query(query);
                let how = Ending::Complete;
                self.queries.ended.push(Ended { origin, how });
            } else {
                let branches = self.branch_out(query, &held.key, held.target, &found);
                released.push((origin.rid, branches));
            }
        }
        released
    }

    /// Whether [`watch_held`](Self::watch_held) has something to do.
    #[inline]
    pub fn may_watch_held(&self) -> bool {
        !(self.queries.unwatched.is_empty() && self.queries.to_watch.is_empty())
    }

    /// Has gateways tell of those who would answer the held queries, and no longer of those who would have answered
    /// ones that are not held any more.
    pub fn watch_held(&mut self, actions: &mut Vec<Action>) {
        for query in std::mem::take(&mut self.queries.to_watch) {
            let Some(held) = self.queries.held.get(&query) else {
                continue;
            };
            if held.want.is_some() {
                continue;
            }
            let key = Arc::from(held.key.as_str());
            let want = self.add_watch(key, actions);
            if let Some(held) = self.queries.held.get_mut(&query) {
                held.want = Some(want);
            }
        }
        for want in std::mem::take(&mut self.queries.unwatched) {
            self.release_watch(want, actions);
        }
    }

    /// A neighbour is there (again).
    pub(in crate::table) fn welcome(&mut self, zid: ZenohId, is_gateway: bool) {
        self.queries.absent.retain(|absent| absent.zid != zid);
        self.queries.held_stale = true;
        if is_gateway && std::mem::take(&mut self.queries.lacks_gateway) {
            self.queries.settling = Settling::Begins;
        }
    }

    /// It is `now`.
    pub(super) fn note_time(&mut self, now: Instant) {
        let settling = &mut self.queries.settling;
        match *settling {
            Settling::Begins => *settling = Settling::Until(now + SETTLING),
            Settling::Until(until) if until <= now => {
                *settling = Settling::No;
                self.queries.held_stale = true;
            }
            _ => {}
        }
    }

    /// Something has changed that held queries may have waited for.
    #[inline]
    pub(in crate::table) fn stir_held(&mut self) {
        self.queries.held_stale = true;
    }

    /// Gives up on neighbours that did not come back.
    pub(in crate::table) fn expire_absent(&mut self, now: Instant) {
        self.note_time(now);
        let before = self.queries.absent.len();
        self.queries.absent.retain(|absent| absent.until > now);
        self.queries.held_stale |= self.queries.absent.len() < before;
    }

    /// When [`expire_absent`](Self::expire_absent) changes something that matters.
    pub(in crate::table) fn absence_deadline(&self) -> Option<Deadline> {
        let settled = match self.queries.settling {
            Settling::Begins => return Some(Deadline::Now),
            Settling::Until(until) => Some(until),
            Settling::No => None,
        };
        if self.queries.held.is_empty() {
            return None;
        }
        let absent = self.queries.absent.iter().map(|absent| absent.until);
        absent.chain(settled).min().map(Deadline::At)
    }

    pub(super) fn hold(&mut self, query: u32, new: &NewQuery<'_>) {
        let held = Held {
            key: new.key.clone().into_owned(),
            target: new.target,
            querier: new.querier,
            destination: new.destination,
            want: None,
        };
        self.keep_held(query, held);
    }

    fn keep_held(&mut self, query: u32, held: Held) {
        if held.want.is_none() && !self.gateways.is_empty() {
            self.queries.to_watch.push(query);
        }
        self.queries.held.insert(query, held);
    }

    /// Whether a query of the session that would go to these waits for others.
    pub(super) fn is_to_hold(&self, found: &[Destination], now: Instant) -> bool {
        if self.role == WhatAmI::Client && self.gateways.is_empty() {
            return found.is_empty();
        }
        if found.iter().any(|found| found.is_known) {
            return false;
        }
        let settles = match self.queries.settling {
            Settling::No => false,
            Settling::Begins => true,
            Settling::Until(until) => until > now,
        };
        let mut absent = self.queries.absent.iter();
        let goes_on = self.role == WhatAmI::Client || found.iter().any(|found| found.is_gateway);
        settles && self.queries.held.len() < SETTLING_MAX
            || !goes_on && absent.any(|absent| absent.until > now)
    }
}
