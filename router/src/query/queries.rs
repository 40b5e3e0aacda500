// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a node keeps of the queries of its own session.

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
    /// Those of them that wait for somebody to ask.
    pub(crate) held: HashMap<u32, HeldQuery>,
    pub(crate) queryables: HashMap<u32, SharedQuerySink>,
    /// When the node's clock looks next at what is overdue.
    pub(crate) alarm: Option<Instant>,
}

impl Queries {
    /// When to look next: `latest`, or when the table wants it.
    pub(crate) fn set_alarm(&mut self, latest: Instant, table: &ForwardingTable) -> Instant {
        let next = match table.alarm() {
            Some(Deadline::At(due)) => due.min(latest),
            Some(Deadline::Now) | None => latest,
        };
        self.alarm = Some(next);
        next
    }

    /// Ends every query, as the node is closed. Not to be called with a lock held.
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
