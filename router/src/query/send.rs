// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dispatch of a query of the session, once its destinations are known.

use std::time::Duration;

use zonda_codec::{Query, QueryBody, RawExtensions, Request};
use zonda_transport::protocol::tx::Tail;

use crate::{
    flow::deliver::keep,
    node::{shared::Shared, state::State},
    query::{
        after::After,
        answering::{self, AskedBranch},
        checked::{Filtered, view_of_query},
        heads::RequestHead,
        incoming::IncomingQuery,
        outgoing::OutgoingQuery,
    },
    table::Branches,
};

/// Sends a query to all neighbours and local queryables in `branches`.
pub(crate) fn send_to_all(
    shared: &Shared,
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
    let view = view_of_query(&request, payload.bytes().len(), query.qos);
    // Each neighbour gets the query with its own number; a branch whose filters reject it ends
    // at once.
    for hop in &branches.hops {
        let filtered = Filtered {
            face: hop.face,
            key: Some(query.key),
            view,
        };
        let Some(qos) = filtered.egress(state) else {
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
            ts_stack: query.stack.map(|stack| stack.routed.view()),
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
        let asked = AskedBranch {
            branch,
            key: query.key,
            parameters: query.parameters,
            payload: query.body.as_ref().map(|(payload, _)| payload.as_slice()),
        };
        answering::query_own(shared, &asked, incoming, state, after);
    }
}

/// Rounds a time up to the milliseconds that the protocol carries.
fn whole_milliseconds(time: Duration) -> Duration {
    let milliseconds = time.as_nanos().div_ceil(1_000_000);
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(u64::MAX))
}
