// SPDX-License-Identifier: MIT OR Apache-2.0

//! State that a node keeps for the queries of its own session.

use std::{collections::HashMap, sync::Arc, time::Instant};

use crate::{
    query::{
        held::HeldQuery,
        incoming::SharedQuerySink,
        open::{Next, OpenQuery},
        outgoing::QueryEnd,
    },
    table::{Deadline, ForwardingTable, SessionNumber},
};

/// Query that has ended, with its copy if it was held until then. Dropping it may run user code, so
/// it must happen without the lock.
pub(crate) type EndedQuery = (Arc<OpenQuery>, Option<HeldQuery>);

/// Open queries and queryables, by number.
#[derive(Default)]
pub(crate) struct Queries {
    open: HashMap<u32, Arc<OpenQuery>>,
    /// Open queries that wait for a queryable to be known.
    held: HashMap<u32, HeldQuery>,
    queryables: HashMap<u32, SharedQuerySink>,
    /// Time at which the node's clock checks for expired queries next.
    alarm: Option<Instant>,
}

impl Queries {
    /// Adds an open query.
    pub(super) fn begin(&mut self, rid: u32, query: &Arc<OpenQuery>) {
        self.open.insert(rid, Arc::clone(query));
    }

    /// Adds a copy of an open query, which is sent once a queryable is known.
    pub(super) fn hold(&mut self, rid: u32, query: HeldQuery) {
        self.held.insert(rid, query);
    }

    /// Removes and returns the copy of a query that was held.
    pub(super) fn take_held(&mut self, rid: u32) -> Option<HeldQuery> {
        self.held.remove(&rid)
    }

    /// Returns the open query with this number.
    pub(super) fn open(&self, rid: u32) -> Option<&Arc<OpenQuery>> {
        self.open.get(&rid)
    }

    /// Removes and returns the open query with this number.
    pub(super) fn end(&mut self, rid: u32) -> Option<EndedQuery> {
        let query = self.open.remove(&rid)?;
        Some((query, self.held.remove(&rid)))
    }

    /// Removes and returns the open queries of a session, with their numbers.
    pub(crate) fn take_of(&mut self, session: SessionNumber) -> Vec<(u32, EndedQuery)> {
        let open = self.open.extract_if(|_, query| query.is_of(session));
        let ended = open.map(|(rid, query)| (rid, (query, self.held.remove(&rid))));
        ended.collect()
    }

    /// Adds a queryable.
    pub(super) fn add_queryable(&mut self, id: u32, sink: SharedQuerySink) {
        self.queryables.insert(id, sink);
    }

    /// Returns the queryable with this id.
    pub(super) fn queryable(&self, id: u32) -> Option<&SharedQuerySink> {
        self.queryables.get(&id)
    }

    /// Removes and returns a queryable. Dropping it may run user code, so it must happen without
    /// the lock.
    pub(crate) fn remove_queryable(&mut self, id: u32) -> Option<SharedQuerySink> {
        self.queryables.remove(&id)
    }

    /// Sets the next check: at `latest`, or earlier if the table has a deadline before.
    pub(crate) fn set_alarm(&mut self, latest: Instant, table: &ForwardingTable) -> Instant {
        let next = match table.alarm() {
            Some(Deadline::At(due)) => due.min(latest),
            Some(Deadline::Now) | None => latest,
        };
        self.alarm = Some(next);
        next
    }

    /// Advances the next check to the table's next deadline; returns true if that is earlier.
    pub(crate) fn advance_alarm(&mut self, table: &ForwardingTable) -> bool {
        let due = table.alarm().map(|due| match due {
            Deadline::Now => Instant::now(),
            Deadline::At(at) => at,
        });
        let is_earlier = matches!((due, self.alarm), (Some(due), Some(alarm)) if due < alarm);
        if is_earlier {
            self.alarm = due;
        }
        is_earlier
    }

    /// Ends every query when the node is closed. The caller must not hold a lock.
    pub(crate) fn close(self) {
        let Queries {
            open,
            held,
            queryables,
            ..
        } = self;
        drop((held, queryables));
        for query in open.into_values() {
            if let Next::Drain(turn) = query.end(QueryEnd::Closed, 0) {
                query.drain(turn);
            }
        }
    }
}
