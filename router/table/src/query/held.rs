// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries of the session that wait for a destination, rather than end without a reply because a
//! link is missing just now.
//!
//! A client without a gateway holds every query: it knows no other node. Peers and routers send
//! queries to the nodes they know. Only while a neighbour is to be connected again soon (a link
//! that this node opened was lost, at most [`ABSENCE_MAX`] ago) do they hold a query without a
//! known queryable: that neighbour may have one. Queries of other nodes are never held, as these
//! hold their own.
//!
//! A gateway that is back may have lost all its state, and the node with a queryable behind it may
//! not be back yet. So for [`SETTLING`] a query without a known queryable waits on: the gateway is
//! sent an interest in queryables on its key, and the query is sent when there is one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{KeyExpr, Target, ZenohId};

use crate::{audience::Reach, deadline::Deadline};

/// Time for which a neighbour that was lost is expected back.
pub(super) const ABSENCE_MAX: Duration = Duration::from_secs(10);

/// Time for other nodes that lost the same gateway to connect to it again: the longest pause
/// between two attempts in the default configuration, four seconds, and one for the attempt.
const SETTLING: Duration = Duration::from_secs(5);

/// Number of queries that wait for nodes behind a gateway that is back. Each may be an interest
/// there, and is checked with every new queryable. More are sent at once.
const SETTLING_MAX: usize = 1000;

/// Wait for the nodes behind a gateway that was lost and is back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Settling {
    #[default]
    No,
    /// A gateway is back; the next call with a time sets the end of the wait.
    Begins,
    Until(Instant),
}

/// Neighbour that is expected back.
#[derive(Debug, Clone, Copy)]
struct AbsentNeighbour {
    zid: ZenohId,
    until: Instant,
}

/// State of a query that is sent later.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) key: KeyExpr<'static>,
    pub(super) target: Target,
    pub(super) querier: Option<u32>,
    pub(super) destination: Reach,
    /// The want that makes gateways declare queryables on the key.
    pub(super) want: Option<u32>,
}

/// Queries that wait for a destination, and the events that they wait for.
#[derive(Debug, Default)]
pub(super) struct HeldQueries {
    queries: BTreeMap<u32, Held>,
    /// True after a change that may release a query.
    is_stale: bool,
    /// Neighbours that are to be connected again soon.
    absent: Vec<AbsentNeighbour>,
    /// True while a gateway was lost and is being connected again.
    lacks_gateway: bool,
    /// Wait for the nodes behind a gateway.
    settling: Settling,
    /// Queries whose keys need an interest at the gateways.
    to_watch: Vec<u32>,
    /// Wants of queries that are not held any more.
    unwatched: Vec<u32>,
}

impl HeldQueries {
    /// Expects a neighbour back whose link was lost and is being restored.
    pub(super) fn expect_back(&mut self, zid: ZenohId, is_gateway: bool, now: Instant) {
        self.lacks_gateway |= is_gateway;
        let until = now + ABSENCE_MAX;
        self.absent.retain(|absent| absent.zid != zid);
        self.absent.push(AbsentNeighbour { zid, until });
    }

    /// Records that a neighbour is connected (again).
    pub(super) fn welcome(&mut self, zid: ZenohId, is_gateway: bool) {
        self.absent.retain(|absent| absent.zid != zid);
        self.is_stale = true;
        if is_gateway && std::mem::take(&mut self.lacks_gateway) {
            self.settling = Settling::Begins;
        }
    }

    /// Updates the wait for this time.
    pub(super) fn note_time(&mut self, now: Instant) {
        match self.settling {
            Settling::Begins => self.settling = Settling::Until(now + SETTLING),
            Settling::Until(until) if until <= now => {
                self.settling = Settling::No;
                self.is_stale = true;
            }
            _ => {}
        }
    }

    /// Has the queries checked again after a change that they may have waited for.
    #[inline]
    pub(super) fn stir(&mut self) {
        self.is_stale = true;
    }

    /// Stops waiting for neighbours that did not come back in time.
    pub(super) fn expire(&mut self, now: Instant) {
        self.note_time(now);
        let before = self.absent.len();
        self.absent.retain(|absent| absent.until > now);
        self.is_stale |= self.absent.len() < before;
    }

    /// Returns the time at which [`expire`](Self::expire) changes something that matters.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        let settled = match self.settling {
            Settling::Begins => return Some(Deadline::Now),
            Settling::Until(until) => Some(until),
            Settling::No => None,
        };
        if self.queries.is_empty() {
            return None;
        }
        let absent = self.absent.iter().map(|absent| absent.until);
        absent.chain(settled).min().map(Deadline::At)
    }

    /// Returns true if a query without a known queryable waits for one. `goes_on` is true if it can
    /// be sent to a node that may know one.
    pub(super) fn waits(&self, goes_on: bool, now: Instant) -> bool {
        let settles = match self.settling {
            Settling::No => false,
            Settling::Begins => true,
            Settling::Until(until) => until > now,
        };
        let mut absent = self.absent.iter();
        settles && self.queries.len() < SETTLING_MAX
            || !goes_on && absent.any(|absent| absent.until > now)
    }

    /// Holds a query. If there is a gateway, it is to be sent an interest in the query's key.
    pub(super) fn hold(&mut self, query: u32, held: Held, has_gateway: bool) {
        if held.want.is_none() && has_gateway {
            self.to_watch.push(query);
        }
        self.queries.insert(query, held);
    }

    /// Returns true if [`begin_round`](Self::begin_round) may return queries.
    #[inline]
    pub(super) fn may_release(&self) -> bool {
        self.is_stale && !self.queries.is_empty()
    }

    /// Returns the queries to check again.
    pub(super) fn begin_round(&mut self, now: Instant) -> Vec<u32> {
        self.note_time(now);
        self.is_stale = false;
        self.queries.keys().copied().collect()
    }

    /// Takes a query out, to send it or to hold it again.
    pub(super) fn take(&mut self, query: u32) -> Option<Held> {
        self.queries.remove(&query)
    }

    /// Ends the interest of a query that is not held any more.
    pub(super) fn end(&mut self, held: &Held) {
        self.unwatched.extend(held.want);
    }

    /// Removes a query that is closed.
    pub(super) fn forget(&mut self, query: u32) {
        if let Some(held) = self.take(query) {
            self.end(&held);
        }
    }

    /// Returns true if interests at gateways are to be sent or ended.
    #[inline]
    pub(super) fn may_watch(&self) -> bool {
        !(self.unwatched.is_empty() && self.to_watch.is_empty())
    }

    /// Returns the queries that need an interest at the gateways.
    pub(super) fn take_to_watch(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.to_watch)
    }

    /// Returns the key of a query without an interest at the gateways.
    pub(super) fn unwatched_key(&self, query: u32) -> Option<Arc<str>> {
        let held = self.queries.get(&query)?;
        let key = held.key.as_str();
        held.want.is_none().then(|| Arc::from(key))
    }

    /// Records the interest at the gateways of a query.
    pub(super) fn set_want(&mut self, query: u32, want: u32) {
        if let Some(held) = self.queries.get_mut(&query) {
            held.want = Some(want);
        }
    }

    /// Returns the wants that have ended with their queries.
    pub(super) fn take_unwatched(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.unwatched)
    }
}
