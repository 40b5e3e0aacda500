// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sending of an [`OutgoingQuery`] of the session to neighbours and to the session's own
//! queryables.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::{Qos, Query, QueryBody, RawExtensions, Request};
use zonda_transport::{outbox::Outbox, protocol::tx::Tail};

use crate::{
    config::Flow,
    flow::{deliver::keep, head::MESSAGE_BYTES_MAX},
    node::{
        sessions::NodeSession,
        shared::{KEY_BYTES_MAX, Shared},
        state::State,
    },
    query::{
        checked::seen_query,
        errors::GetError,
        heads::{RequestHead, may_drop},
        held::HeldQuery,
        incoming::IncomingQuery,
        open::{Next, OpenQuery},
        outgoing::OutgoingQuery,
        querier::QuerierFace,
        settle::After,
    },
    send_error::SendError,
    table::{Branches, NewQuery, QueryDispatch},
};

/// A neighbour that the query must reach and whose lane is full.
pub(crate) struct Full {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) error: GetError,
}

/// The reason why an attempt to send a query failed.
pub(crate) enum Failed {
    /// A retry may succeed once the lane has room.
    Full(Full),
    Error(GetError),
}

impl Shared {
    /// Attempts once to send a query, without waiting.
    pub(crate) fn try_query(
        &self,
        session: &NodeSession,
        query: &OutgoingQuery<'_>,
        querier: Option<&QuerierFace>,
        open: &Arc<OpenQuery>,
    ) -> Result<(), Failed> {
        if open.is_over() {
            return Ok(());
        }
        self.check_query(query).map_err(Failed::Error)?;
        // The query gets a number and its destinations from the table.
        let now = Instant::now();
        let mut state = self.state.lock();
        if self.is_closed() || session.is_closed() {
            return Err(Failed::Error(GetError::Closed));
        }
        let checked = state.table.check_key(query.key);
        checked.map_err(|over| Failed::Error(GetError::KeyOverLimit(over)))?;
        let rid = state.table.next_query_id(self.local);
        let ask = NewQuery {
            rid,
            key: query.key,
            target: query.target,
            qos: query.qos,
            timeout: query.timeout,
            querier: querier.map(QuerierFace::id),
            destination: session.reach(query.destination),
            hears_of_losses: true,
        };
        let disposal = state.table.handle_query(self.local, &ask, now);
        // A full lane ends this attempt; the caller waits and tries again.
        if let QueryDispatch::Sent(branches) = &disposal
            && let Some(full) = full_hop(&state, branches, query.qos)
        {
            state.table.forget_query(self.local, rid);
            return Err(Failed::Full(full));
        }
        // Not expected: the number is unique, and the session may query.
        if disposal == QueryDispatch::Ignored {
            return Err(Failed::Error(GetError::Closed));
        }
        // The query is open from here on, unless the session has cancelled it.
        if !open.begin(rid, session.number) {
            state.table.forget_query(self.local, rid);
            return Ok(());
        }
        state.queries.open.insert(rid, Arc::clone(open));
        // It is sent, or held until a queryable is known.
        let mut after = After::default();
        match disposal {
            QueryDispatch::Sent(branches) => {
                self.send_to_all(&branches, query, &mut state, &mut after);
            }
            QueryDispatch::Held => {
                state.queries.held.insert(rid, HeldQuery::of(query));
            }
            QueryDispatch::Ended | QueryDispatch::Ignored => {}
        }
        self.wake_clock(&mut state);
        self.settle_queries(&mut state, &mut after);
        drop(state);
        after.finish();
        open.is_sent();
        Ok(())
    }

    /// Sends a query to all neighbours and local queryables in `branches`.
    pub(crate) fn send_to_all(
        &self,
        branches: &Branches,
        query: &OutgoingQuery<'_>,
        state: &mut State,
        after: &mut After,
    ) {
        let (payload, body) = match query.body {
            None => (Tail::NONE, None),
            Some((value, encoding)) => {
                let payload = &[][..];
                (value.into(), Some(QueryBody { encoding, payload }))
            }
        };
        let request = Query {
            consolidation: query.consolidation,
            parameters: query.parameters,
            source_info: query.source_info,
            body,
            attachment: query.attachment,
            unknown: RawExtensions::default(),
        };
        let seen = seen_query(&request, payload.bytes().len(), query.qos);
        // Each neighbour gets the query with its own number; a branch whose filters reject it ends
        // at once.
        for hop in &branches.hops {
            let carried = self.carried(state, hop.face, Flow::Egress, Some(query.key), seen);
            let Some(qos) = carried else {
                state.table.finish_branch(hop.face, hop.rid);
                continue;
            };
            let Some(face) = state.faces.get(&hop.face) else {
                continue;
            };
            let wire_expr = hop.wire_expr(query.key.as_str());
            let request = Request {
                qos,
                target: query.target,
                timeout: Some(whole_milliseconds(query.timeout)),
                hears_of_losses: true,
                ..Request::new(hop.rid, wire_expr, request)
            };
            let head = RequestHead {
                request,
                payload_len: payload.bytes().len(),
            };
            let (touched, priority) = (&mut after.touched, qos.priority());
            keep(touched, &face.outbox, priority, &head, payload);
        }
        // The session's queryables are called later, without the lock.
        for branch in &branches.local {
            let incoming = |node| IncomingQuery::of_session(node, branch, query);
            self.query_own(branch, query.key, incoming, state, after);
        }
    }

    /// Ends a query if it has not ended.
    pub(crate) fn cancel_query(&self, open: &OpenQuery) {
        if self.is_forked() {
            return;
        }
        let (next, rid) = open.cancel();
        if let Some(rid) = rid {
            let mut state = self.state.lock();
            state.table.forget_query(self.local, rid);
            let held = state.queries.held.remove(&rid);
            let known = state.queries.open.remove(&rid);
            drop(state);
            drop((held, known));
        }
        if let Next::Drain(turn) = next {
            open.drain(turn);
        }
    }

    /// Checks that the session can send: the node is open and the process has not forked since.
    pub(crate) fn may_send(&self) -> Result<(), SendError> {
        if self.is_forked() {
            return Err(SendError::Forked);
        }
        match self.is_closed() {
            true => Err(SendError::Closed),
            false => Ok(()),
        }
    }

    fn check_query(&self, query: &OutgoingQuery<'_>) -> Result<(), GetError> {
        self.may_send()?;
        let (len, limit) = (query.key.as_str().len(), KEY_BYTES_MAX);
        if len > limit {
            return Err(GetError::KeyTooLong { len, limit });
        }
        let payload = query.body.map_or(0, |(value, _)| value.size());
        let attachment = query.attachment.map_or(0, <[u8]>::len);
        let size = payload + attachment + query.parameters.len();
        let encoding = query.body.as_ref().map(|(_, encoding)| encoding);
        Ok(SendError::check(size, MESSAGE_BYTES_MAX, encoding)?)
    }
}

/// Rounds a time up to the milliseconds that the protocol carries.
fn whole_milliseconds(time: Duration) -> Duration {
    let milliseconds = time.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

/// Returns the first neighbour whose lane has no room for the query.
fn full_hop(state: &State, branches: &Branches, qos: Qos) -> Option<Full> {
    let mut faces = branches
        .hops
        .iter()
        .filter_map(|hop| state.faces.get(&hop.face));
    let face = faces.find(|face| !face.outbox.has_room(qos.priority()))?;
    let (outbox, peer) = (Arc::clone(&face.outbox), face.status.zid);
    if may_drop(qos) {
        outbox.count_dropped(qos.priority());
    }
    let error = SendError::full(peer, may_drop(qos)).into();
    Some(Full { outbox, error })
}
