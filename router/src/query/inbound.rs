// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries and replies that a connection receives. The node forwards their bodies as they are and
//! encodes only new heads.

use std::{sync::Arc, time::Duration};

use zonda_codec::{
    KeyExpr, Reader, Reliability, Request, Response, ResponseBody, ResponseFinal, ResponseHead,
};
use zonda_transport::protocol::{
    rx::Context,
    tx::{Outgoing, Tail},
};

use crate::{
    flow::{deliver::EgressWork, link_filters::LinkSide, read_cycle::ReadCycle},
    hooks::MessageView,
    node::{log::log, shared::Shared, state::State},
    query::{
        after::After,
        answering::{self, AskedBranch},
        checked::{carried, payload_len, seen_query, seen_reply},
        heads::{self, PassedHead},
        incoming::IncomingQuery,
        open::{Next, OpenQuery},
        outgoing::{IncomingReply, ReplyBody},
    },
    table::{Branches, FaceId, NewQuery, QueryDispatch, QueryOrigin, QuerySearch, Reach},
};

/// Time that a neighbour's query stays open beyond its timeout. The asker's own clock must end the
/// query first: otherwise it would get the timeout twice, or could not recognise it as one.
const ASKER_FIRST: Duration = Duration::from_millis(500);

/// A received query on its way through this node.
struct ForwardedQuery<'a> {
    request: Request<'a>,
    raw_body: &'a [u8],
    key: &'a KeyExpr<'static>,
    context: &'a Context<'a>,
    seen: MessageView,
    shared: &'a Shared,
}

/// Handles a REQUEST from a neighbour. Returns false if the search for destinations is not
/// finished; `search` holds its state, and the caller calls again with the same request.
pub(crate) fn take_question(
    shared: &Shared,
    face: FaceId,
    context: &Context<'_>,
    search: &mut QuerySearch,
    burst: &mut ReadCycle,
) -> bool {
    let Ok((mut request, raw_body)) = Request::decode_with_raw(&mut Reader::new(context.raw))
    else {
        return true;
    };
    let mut is_done = true;
    let downstream = &mut burst.downstream;
    let after = shared.change(|state, after| {
        let asker = QueryOrigin {
            face,
            rid: request.rid,
            qos: request.qos,
            hears_of_losses: request.hears_of_losses,
        };
        // A query with an unknown key id, or one that the filters reject, ends at once.
        let key = state.table.declared_key(face, &request.wire_expr);
        let Some(key) = key.map(KeyExpr::into_owned) else {
            state.table.refuse_query(asker);
            return;
        };
        let payload_len = request.body.body.map_or(0, |b| b.payload.len());
        let seen = seen_query(&request.body, payload_len, request.qos);
        let side = LinkSide::ingress(face);
        let Some(qos) = carried(&shared.hooks, state, side, Some(&key), seen) else {
            state.table.refuse_query(asker);
            return;
        };
        request.qos = qos;
        let seen = MessageView { qos, ..seen };
        let timeout = request
            .timeout
            .unwrap_or_else(|| shared.settings.query_timeout);
        let ask = NewQuery {
            rid: request.rid,
            key: &key,
            target: request.target,
            qos: request.qos,
            timeout: timeout + ASKER_FIRST,
            querier: None,
            destination: Reach::ANY,
            hears_of_losses: request.hears_of_losses,
        };
        // The table finds the destinations, in several calls if it has to.
        let now = std::time::Instant::now();
        let disposal = state.table.search_query(face, &ask, now, search);
        is_done = disposal.is_some();
        if let Some(QueryDispatch::Sent(branches)) = disposal {
            let passing = ForwardedQuery {
                request,
                raw_body,
                key: &key,
                context,
                seen,
                shared,
            };
            shared.wake_clock(state);
            passing.forward(&branches, state, downstream);
            query_own_all(shared, &passing, &branches, state, after);
        }
    });
    burst.follow(after);
    is_done
}

/// Handles a RESPONSE from a neighbour.
pub(crate) fn take_answer(
    shared: &Shared,
    face: FaceId,
    context: &Context<'_>,
    burst: &mut ReadCycle,
) {
    let Ok((response, raw_body)) = Response::decode_with_raw(&mut Reader::new(context.raw)) else {
        return;
    };
    let mut state = shared.state.lock();
    let Some(asker) = state.table.origin_of_reply(face, response.rid) else {
        return;
    };
    // An error may come without a key; any other reply has one.
    let is_error = matches!(response.body, ResponseBody::Err(_));
    let key = match response.wire_expr.is_empty() && is_error {
        true => None,
        false => match state.table.declared_key(face, &response.wire_expr) {
            Some(key) => Some(key),
            None => {
                let notes = state.table.take_notes();
                drop(state);
                return log(notes);
            }
        },
    };
    // Filters of both links decide, the replying one's first.
    let seen = seen_reply(&response.body, payload_len(&response.body), asker.qos);
    let passes = |side| {
        let carried = carried(&shared.hooks, &state, side, key.as_ref(), seen);
        carried.is_some()
    };
    if !passes(LinkSide::ingress(face)) || !passes(LinkSide::egress(asker.face)) {
        return;
    }
    // The asker is this node's session.
    if asker.face == shared.local {
        let query = state.queries.open(asker.rid).cloned();
        if let Some(query) = query {
            let reply = incoming(&query, key.as_ref(), &response, context);
            let next = reply.map(|reply| (query.enter(&reply), reply));
            drop(state);
            deliver(&query, next, burst);
        }
        return;
    }
    // The asker is a neighbour: it gets the body as it is, behind a new head.
    let Some(outbox) = state.faces.get(&asker.face).map(|face| &face.outbox) else {
        return;
    };
    let text = key.as_ref().map_or("", KeyExpr::as_str);
    let head = ResponseHead {
        ts_stack: response.ts_stack,
        ..heads::response(&asker, text, response.responder)
    };
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &head,
        payload: Tail::Part {
            block: context.block,
            part: raw_body,
        },
    };
    // The state's lock is held, so that the end of the query cannot overtake the reply.
    burst.downstream.pass(outbox, asker.qos, &message);
}

/// Handles a RESPONSE_FINAL from a neighbour.
pub(crate) fn take_final(
    shared: &Shared,
    face: FaceId,
    end: &ResponseFinal,
    burst: &mut ReadCycle,
) {
    let after = shared.change(|state, _| state.table.finish_branch(face, end.rid));
    burst.follow(after);
}

fn query_own_all(
    shared: &Shared,
    passing: &ForwardedQuery<'_>,
    branches: &Branches,
    state: &mut State,
    after: &mut After,
) {
    for branch in &branches.local {
        let block = passing.context.block;
        let query =
            |node| IncomingQuery::of_neighbour(node, branch, passing.key, &passing.request, block);
        let asked = AskedBranch {
            branch,
            key: passing.key,
        };
        answering::query_own(shared, &asked, query, state, after);
    }
}

impl ForwardedQuery<'_> {
    /// Queues the query for the neighbours in `branches`. A branch whose filters or lane refuse it
    /// ends at once.
    fn forward(&self, branches: &Branches, state: &mut State, downstream: &mut EgressWork) {
        for hop in &branches.hops {
            // The filters of the neighbour's links may change the QoS or reject the query.
            let (side, key) = (LinkSide::egress(hop.face), Some(self.key));
            let Some(qos) = carried(&self.shared.hooks, state, side, key, self.seen) else {
                state.table.finish_branch(hop.face, hop.rid);
                continue;
            };
            let Some(face) = state.faces.get(&hop.face) else {
                continue;
            };
            // Only the head is new; the body is the received one.
            let head = PassedHead(Request {
                rid: hop.rid,
                wire_expr: hop.wire_expr(self.key.as_str()),
                timestamp: None,
                node_id: hop.node_id,
                qos,
                ..self.request
            });
            let message = Outgoing {
                reliability: Reliability::Reliable,
                head: &head,
                payload: Tail::Part {
                    block: self.context.block,
                    part: self.raw_body,
                },
            };
            if !downstream.pass(&face.outbox, qos, &message) {
                state.table.finish_branch(hop.face, hop.rid);
            }
        }
    }
}

/// Converts a response for the session's query; `None` if its key does not match the query.
fn incoming<'a>(
    query: &'a OpenQuery,
    key: Option<&'a KeyExpr<'a>>,
    response: &'a Response<'a>,
    context: &'a Context<'a>,
) -> Option<IncomingReply<'a>> {
    let (key, body) = match &response.body {
        ResponseBody::Reply(reply) => {
            let key = key.filter(|key| query.accepts(key))?;
            (key, ReplyBody::Sample(&reply.payload))
        }
        ResponseBody::Err(error) => {
            let (encoding, payload) = (error.encoding, error.payload);
            let key: &KeyExpr<'_> = query.key();
            (key, ReplyBody::Error { encoding, payload })
        }
    };
    Some(IncomingReply {
        key,
        responder: response.responder,
        body,
        block: context.block,
        qos: response.qos,
        is_inside_query: false,
    })
}

fn deliver(query: &Arc<OpenQuery>, next: Option<(Next, IncomingReply<'_>)>, burst: &mut ReadCycle) {
    match next {
        Some((Next::Deliver(turn), reply)) => query.deliver(turn, &reply),
        Some((Next::Drain(turn), _)) => query.drain(turn),
        Some((Next::Crowded, _)) => burst.crowd(query),
        Some((Next::Nothing, _)) | None => {}
    }
}
