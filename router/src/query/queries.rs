// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a node keeps of the queries of its own session.

use std::{collections::HashMap, sync::Arc, time::Instant};

use zonda_codec::KeyExpr;

use crate::{
    model::DeclareError,
    node::{shared::Shared, state::State},
    query::{
        answering::{QueryableId, SharedQuerySink},
        held::HeldQuery,
        open::{Next, OpenQuery},
        outgoing::QueryEnd,
    },
    table::{ForwardingTable, Locality},
};

/// Open queries and queryables, by number.
#[derive(Default)]
pub(crate) struct Queries {
    pub(crate) open: HashMap<u32, Arc<OpenQuery>>,
    /// Those of them that wait for somebody to ask.
    pub(crate) held: HashMap<u32, HeldQuery>,
    pub(crate) queryables: HashMap<u32, SharedQuerySink>,
    /// When the node's clock looks next at what is overdue.
    alarm: Option<Instant>,
}

impl Queries {
    /// When to look next: `latest`, or when the first query times out.
    pub(crate) fn set_alarm(&mut self, latest: Instant, table: &ForwardingTable) -> Instant {
        let next = table.query_deadline().map_or(latest, |due| due.min(latest));
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

impl Shared {
    /// After a new query: the clock looks no later than it is due.
    pub(crate) fn wake_clock(&self, state: &mut State) {
        let due = state.table.query_deadline();
        let alarm = state.queries.alarm;
        if let (Some(due), Some(alarm)) = (due, alarm)
            && due < alarm
        {
            state.queries.alarm = Some(due);
            self.hurry.notify(usize::MAX);
        }
    }

    pub(crate) fn declare_queryable(
        &self,
        key: &KeyExpr<'_>,
        complete: bool,
        origin: Locality,
        sink: SharedQuerySink,
    ) -> Result<QueryableId, DeclareError> {
        self.may_declare(key)?;
        let id = self.next_id();
        let refused = self.update(|state| {
            if self.is_closed() {
                return Some(sink);
            }
            state.queries.queryables.insert(id, sink);
            let State { table, actions, .. } = state;
            table.local_queryable_from(self.own(id), key, complete, origin, actions);
            None
        });
        match refused {
            None => Ok(QueryableId(id)),
            Some(_) => Err(DeclareError::Closed),
        }
    }

    pub(crate) fn undeclare_queryable(&self, id: QueryableId) {
        if self.is_forked() {
            return;
        }
        let sink = self.update(|state| {
            let State { table, actions, .. } = state;
            table.undeclare_local_queryable(self.local, id.0, actions);
            state.queries.queryables.remove(&id.0)
        });
        // User code may run when it goes, so it is done here, without the lock.
        drop(sink);
    }
}
