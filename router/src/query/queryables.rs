// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queryables of this node's own session.

use std::time::Instant;

use zonda_codec::KeyExpr;

use crate::{
    model::DeclareError,
    node::{sessions::NodeSession, shared::Shared, state::State},
    query::incoming::{QueryableId, SharedQuerySink},
    table::{Deadline, Kind, Locality, Own},
};

impl Shared {
    /// Advances the clock's next check to the table's next deadline, after a new query or a change
    /// of a mesh's trees.
    pub(crate) fn wake_clock(&self, state: &mut State) {
        let due = state.table.alarm().map(|due| match due {
            Deadline::Now => Instant::now(),
            Deadline::At(at) => at,
        });
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
        session: &NodeSession,
        key: &KeyExpr<'_>,
        complete: bool,
        origin: Locality,
        sink: SharedQuerySink,
    ) -> Result<QueryableId, DeclareError> {
        self.may_declare(key)?;
        let id = self.next_id();
        // A closed node or session returns the sink, which must not be dropped under the lock.
        let refused = self.update(|state| {
            if self.is_closed() || session.is_closed() {
                return Some(sink);
            }
            state.queries.queryables.insert(id, sink);
            let State { table, actions, .. } = state;
            let what = Own {
                origin: session.reach(origin),
                ..Own::queryable(complete)
            };
            table.local_declare(self.own(id), what, key, actions);
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
            table.local_undeclare(self.own(id.0), Kind::Queryable, actions);
            state.queries.queryables.remove(&id.0)
        });
        // Dropping the sink may run user code, so the lock must not be held here.
        drop(sink);
    }
}
