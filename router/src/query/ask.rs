// SPDX-License-Identifier: MIT OR Apache-2.0

//! Asking: from an [`OutgoingQuery`] of the session to the lanes of the neighbours and the session's own queryables.

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

/// A neighbour that must be asked and has no room.
pub(crate) struct Full {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) error: GetError,
}

/// Why an attempt to ask failed.
pub(crate) enum Failed {
    /// Trying again after waiting may help.
    Full(Full),
    Error(GetError),
}

impl Shared {
    /// One attempt to ask, without waiting.
    pub(crate) fn try_query(
        &self,
        query: &OutgoingQuery<'_>,
        querier: Option<&QuerierFace>,
        open: &Arc<OpenQuery>,
    ) -> Result<(), Failed> {
        if open.is_over() {
            return Ok(());
        }
        self.check_query(query).map_err(Failed::Error)?;
        let now = Instant::now();
        let mut state = self.state.lock();
        if self.is_closed() {
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
            destination: query.destination,
            hears_of_losses: true,
        };
        let disposal = state.table.handle_query(self.local, &ask, now);
        if let QueryDispatch::Sent(branches) = &disposal
            && let Some(full) = full_hop(&state, branches, query.qos)
        {
            state.table.forget_query(self.local, rid);
            return Err(Failed::Full(full));
        }
        // Its number is no other's and the session may ask, so this is not to be expected.
        if disposal == QueryDispatch::Ignored {
            return Err(Failed::Error(GetError::Closed));
        }
        if !open.begin(rid) {
            state.table.forget_query(self.local, rid);
            return Ok(());
        }
        state.queries.open.insert(rid, Arc::clone(open));
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

    /// Sends a query to all who are asked.
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
        for branch in &branches.local {
            let incoming = |node| IncomingQuery::of_session(node, branch, query);
            self.query_own(branch, query.key, incoming, state, after);
        }
    }

    /// Ends a query, if it has not ended.
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

    /// Tells if anything of the session can be sent now.
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

/// Rounds a time up to what the protocol can say.
fn whole_milliseconds(time: Duration) -> Duration {
    let milliseconds = time.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}

/// The first neighbour to be asked that has no room for the query.
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
