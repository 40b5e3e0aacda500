// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sending of an [`OutgoingQuery`] of the session to neighbours and to the session's own
//! queryables.

use std::{sync::Arc, time::Instant};

use zonda_codec::Qos;
use zonda_transport::outbox::Outbox;

use crate::{
    flow::head::MESSAGE_BYTES_MAX,
    node::{
        sessions::NodeSession,
        shared::{KEY_BYTES_MAX, Shared},
        state::State,
    },
    query::{
        after::After,
        errors::GetError,
        heads::may_drop,
        held::HeldQuery,
        open::{Next, OpenQuery},
        outgoing::OutgoingQuery,
        querier::QuerierFace,
        send, settle,
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

/// Attempts once to send a query, without waiting.
pub(crate) fn try_query(
    shared: &Shared,
    session: &NodeSession,
    query: &OutgoingQuery<'_>,
    querier: Option<&QuerierFace>,
    open: &Arc<OpenQuery>,
) -> Result<(), Failed> {
    if open.is_over() {
        return Ok(());
    }
    check_query(shared, query).map_err(Failed::Error)?;
    // The query gets a number and its destinations from the table.
    let now = Instant::now();
    let mut state = shared.state.lock();
    if shared.is_closed() || session.is_closed() {
        return Err(Failed::Error(GetError::Closed));
    }
    let checked = state.table.check_key(query.key);
    checked.map_err(|over| Failed::Error(GetError::KeyOverLimit(over)))?;
    let rid = state.table.next_query_id(shared.local);
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
    let disposal = state.table.handle_query(shared.local, &ask, now);
    // A full lane ends this attempt; the caller waits and tries again.
    if let QueryDispatch::Sent(branches) = &disposal
        && let Some(full) = full_hop(&state, branches, query.qos)
    {
        state.table.forget_query(shared.local, rid);
        return Err(Failed::Full(full));
    }
    // Not expected: the number is unique, and the session may query.
    if disposal == QueryDispatch::Ignored {
        return Err(Failed::Error(GetError::Closed));
    }
    // The query is open from here on, unless the session has cancelled it.
    if !open.begin(rid, session.number) {
        state.table.forget_query(shared.local, rid);
        return Ok(());
    }
    state.queries.begin(rid, open);
    // It is sent, or held until a queryable is known.
    let mut after = After::default();
    match disposal {
        QueryDispatch::Sent(branches) => {
            send::send_to_all(shared, &branches, query, &mut state, &mut after);
        }
        QueryDispatch::Held => {
            state.queries.hold(rid, HeldQuery::of(query));
        }
        QueryDispatch::Ended | QueryDispatch::Ignored => {}
    }
    shared.wake_clock(&mut state);
    settle::settle_queries(shared, &mut state, &mut after);
    drop(state);
    after.finish();
    open.is_sent();
    Ok(())
}

/// Ends a query if it has not ended.
pub(crate) fn cancel_query(shared: &Shared, open: &OpenQuery) {
    if shared.is_forked() {
        return;
    }
    let (next, rid) = open.cancel();
    if let Some(rid) = rid {
        let mut state = shared.state.lock();
        state.table.forget_query(shared.local, rid);
        let known = state.queries.end(rid);
        drop(state);
        drop(known);
    }
    if let Next::Drain(turn) = next {
        open.drain(turn);
    }
}

fn check_query(shared: &Shared, query: &OutgoingQuery<'_>) -> Result<(), GetError> {
    shared.may_send()?;
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
