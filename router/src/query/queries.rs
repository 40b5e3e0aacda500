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
    table::{Deadline, ForwardingTable},
};

/// Open queries and queryables, by number.
#[derive(Default)]
pub(crate) struct Queries {
    pub(crate) open: HashMap<u32, Arc<OpenQuery>>,
    /// Open queries that wait for a queryable to be known.
    pub(crate) held: HashMap<u32, HeldQuery>,
    pub(crate) queryables: HashMap<u32, SharedQuerySink>,
    /// Time at which the node's clock checks for expired queries next.
    pub(crate) alarm: Option<Instant>,
}

impl Queries {
    /// Sets the next check: at `latest`, or earlier if the table has a deadline before.
    pub(crate) fn set_alarm(&mut self, latest: Instant, table: &ForwardingTable) -> Instant {
        let next = match table.alarm() {
            Some(Deadline::At(due)) => due.min(latest),
            Some(Deadline::Now) | None => latest,
        };
        self.alarm = Some(next);
        next
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
