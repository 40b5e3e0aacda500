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

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_codec::{KeyExpr, Target, ZenohId};

use crate::table::{audience::Locality, deadline::Deadline};

/// How long a neighbour that was lost is expected back.
pub(super) const ABSENCE_MAX: Duration = Duration::from_secs(10);

/// How long others that lost the same gateway may take to connect to it again: the longest pause between two attempts
/// where nothing else is configured, four seconds, and one for the attempt.
const SETTLING: Duration = Duration::from_secs(5);

/// How many queries wait for others behind a gateway that is back. Each may be an interest there, and is looked at with
/// every queryable that comes. More are sent at once.
const SETTLING_MAX: usize = 1000;

/// Whether a gateway that was lost is back, and others may not be yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Settling {
    #[default]
    No,
    /// One has come; the time begins with the next look at the clock.
    Begins,
    Until(Instant),
}

/// A neighbour that is expected back.
#[derive(Debug, Clone, Copy)]
struct Absent {
    zid: ZenohId,
    until: Instant,
}

/// What is remembered of a query to send it later.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) key: KeyExpr<'static>,
    pub(super) target: Target,
    pub(super) querier: Option<u32>,
    pub(super) destination: Locality,
    /// The want that makes gateways tell of queryables on the key.
    pub(super) want: Option<u32>,
}

/// The queries that wait for a destination, and what they wait for.
#[derive(Debug, Default)]
pub(super) struct HeldQueries {
    queries: BTreeMap<u32, Held>,
    /// Something has changed that may release one.
    is_stale: bool,
    /// Neighbours that are to be connected again soon.
    absent: Vec<Absent>,
    /// A gateway was lost and is being connected again.
    lacks_gateway: bool,
    /// Whether those behind a gateway may still be on their way.
    settling: Settling,
    /// Those whose key gateways are to be asked about.
    to_watch: Vec<u32>,
    /// Wants of queries that are not held any more.
    unwatched: Vec<u32>,
}

impl HeldQueries {
    /// The link to this neighbour was lost and is being restored.
    pub(super) fn expect_back(&mut self, zid: ZenohId, is_gateway: bool, now: Instant) {
        self.lacks_gateway |= is_gateway;
        let until = now + ABSENCE_MAX;
        self.absent.retain(|absent| absent.zid != zid);
        self.absent.push(Absent { zid, until });
    }

    /// A neighbour is there (again).
    pub(super) fn welcome(&mut self, zid: ZenohId, is_gateway: bool) {
        self.absent.retain(|absent| absent.zid != zid);
        self.is_stale = true;
        if is_gateway && std::mem::take(&mut self.lacks_gateway) {
            self.settling = Settling::Begins;
        }
    }

    /// It is `now`.
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

    /// Something has changed that one may have waited for.
    #[inline]
    pub(super) fn stir(&mut self) {
        self.is_stale = true;
    }

    /// Gives up on neighbours that did not come back.
    pub(super) fn expire(&mut self, now: Instant) {
        self.note_time(now);
        let before = self.absent.len();
        self.absent.retain(|absent| absent.until > now);
        self.is_stale |= self.absent.len() < before;
    }

    /// When [`expire`](Self::expire) changes something that matters.
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

    /// Whether a query for which no queryable is known waits for one. `goes_on` says that it can be sent to a node that may
    /// know one.
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

    /// Holds a query. If there is a gateway, it is to be asked about the query's key.
    pub(super) fn hold(&mut self, query: u32, held: Held, has_gateway: bool) {
        if held.want.is_none() && has_gateway {
            self.to_watch.push(query);
        }
        self.queries.insert(query, held);
    }

    /// Whether [`begin_round`](Self::begin_round) may give anything.
    #[inline]
    pub(super) fn may_release(&self) -> bool {
        self.is_stale && !self.queries.is_empty()
    }

    /// The queries to look at again.
    pub(super) fn begin_round(&mut self, now: Instant) -> Vec<u32> {
        self.note_time(now);
        self.is_stale = false;
        self.queries.keys().copied().collect()
    }

    /// Takes one out, to send it or to hold it again.
    pub(super) fn take(&mut self, query: u32) -> Option<Held> {
        self.queries.remove(&query)
    }

    /// A query is not held any more: gateways need not tell of queryables for it.
    pub(super) fn end(&mut self, held: &Held) {
        self.unwatched.extend(held.want);
    }

    /// A query is closed.
    pub(super) fn forget(&mut self, query: u32) {
        if let Some(held) = self.take(query) {
            self.end(&held);
        }
    }

    /// Whether gateways are to be asked, or need not tell any more.
    #[inline]
    pub(super) fn may_watch(&self) -> bool {
        !(self.unwatched.is_empty() && self.to_watch.is_empty())
    }

    /// The queries about whose keys gateways are to be asked.
    pub(super) fn take_to_watch(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.to_watch)
    }

    /// The key of a query about which gateways have not been asked.
    pub(super) fn unwatched_key(&self, query: u32) -> Option<Arc<str>> {
        let held = self.queries.get(&query)?;
        let key = held.key.as_str();
        held.want.is_none().then(|| Arc::from(key))
    }

    /// Gateways were asked about a query's key.
    pub(super) fn set_want(&mut self, query: u32, want: u32) {
        if let Some(held) = self.queries.get_mut(&query) {
            held.want = Some(want);
        }
    }

    /// The wants that have ended with their queries.
    pub(super) fn take_unwatched(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.unwatched)
    }
}
