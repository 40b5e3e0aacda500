// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries and replies that a connection receives. The node forwards their bodies as they are and
//! encodes only new heads.

use std::{sync::Arc, time::Duration};

use zonda_codec::{
    KeyExpr, NodeId, Qos, Reader, Reliability, Request, Response, ResponseBody, ResponseFinal,
    ResponseHead, TsStack, TsStackBuf,
};
use zonda_transport::protocol::{
    rx::Context,
    tx::{Outgoing, Tail},
};

use crate::{
    filter::MessageView,
    flow::{deliver::EgressWork, read_cycle::ReadCycle},
    node::{log::log, shared::Shared, state::State},
    query::{
        after::After,
        answering::{self, AskedBranch},
        checked::{Filtered, payload_len, view_of_query, view_of_reply},
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
    view: MessageView,
}

/// Progress of a received query until its destinations are known.
#[derive(Default)]
pub(crate) struct QueryProgress {
    search: QuerySearch,
    /// QoS with which it passed the filters of its source; `None` before they have decided.
    passed: Option<Qos>,
    /// The time-stamp stack of the query with the record of this node, if it has one.
    routed: Option<TsStackBuf>,
}

impl QueryProgress {
    /// Begins with a query of this routing context.
    pub(crate) fn new(node_id: NodeId) -> QueryProgress {
        QueryProgress {
            search: QuerySearch::with_node_id(node_id),
            passed: None,
            routed: None,
        }
    }
}

/// Handles a REQUEST from a neighbour. Returns false if the search for destinations is not
/// finished; `progress` holds its state, and the caller calls again with the same request.
pub(crate) fn take_question(
    shared: &Shared,
    face: FaceId,
    context: &Context<'_>,
    progress: &mut QueryProgress,
    burst: &mut ReadCycle,
) -> bool {
    let Ok((mut request, raw_body)) = Request::decode_with_raw(&mut Reader::new(context.raw))
    else {
        return true;
    };
    // Recorded once, and without the lock.
    let routed = request.ts_stack.map(|stack| {
        let before = progress.routed.take();
        before.unwrap_or_else(|| shared.recorded(stack, TsStack::ROUTE))
    });
    request.ts_stack = routed.as_ref().map(TsStackBuf::view);
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
        let Some((key, view)) = enter(state, face, &request, progress) else {
            state.table.refuse_query(asker);
            return;
        };
        request.qos = view.qos;
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
        let disposal = state
            .table
            .search_query(face, &ask, now, &mut progress.search);
        is_done = disposal.is_some();
        if let Some(QueryDispatch::Sent(branches)) = disposal {
            let passing = ForwardedQuery {
                request,
                raw_body,
                key: &key,
                context,
                view,
            };
            shared.wake_clock(state);
            passing.forward(&branches, state, downstream);
            query_own_all(shared, &passing, &branches, state, after);
        }
    });
    burst.follow(after);
    progress.routed = routed;
    is_done
}

/// Returns the key of a query and its view behind the filters of its source, which decide once;
/// `None` if they drop it, or the key cannot be used.
fn enter(
    state: &mut State,
    face: FaceId,
    request: &Request<'_>,
    progress: &mut QueryProgress,
) -> Option<(KeyExpr<'static>, MessageView)> {
    let key = state.table.declared_key(face, &request.wire_expr)?;
    let key = key.into_owned();
    let payload_len = request.body.body.map_or(0, |body| body.payload.len());
    let view = view_of_query(&request.body, payload_len, request.qos);
    if progress.passed.is_none() {
        let filtered = Filtered {
            face,
            key: Some(&key),
            view,
        };
        progress.passed = Some(filtered.ingress(state)?);
    }
    let qos = progress.passed?;
    Some((key, MessageView { qos, ..view }))
}

/// Handles a RESPONSE from a neighbour.
pub(crate) fn take_answer(
    shared: &Shared,
    face: FaceId,
    context: &Context<'_>,
    burst: &mut ReadCycle,
) {
    let mut reader = Reader::new(context.raw);
    let Ok((mut response, raw_body)) = Response::decode_with_raw(&mut reader) else {
        return;
    };
    let stack = passed_stack(shared, face, &response);
    response.ts_stack = stack.as_ref().map(TsStackBuf::view);
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
    let filtered = |face| Filtered {
        face,
        key: key.as_ref(),
        view: view_of_reply(&response.body, payload_len(&response.body), asker.qos),
    };
    if filtered(face).ingress(&mut state).is_none()
        || filtered(asker.face).egress(&mut state).is_none()
    {
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
    let message = Outgoing {
        reliability: Reliability::Reliable,
        head: &ResponseHead {
            ts_stack: response.ts_stack,
            ..heads::response(&asker, text, response.responder)
        },
        payload: Tail::Part {
            block: context.block,
            part: raw_body,
        },
    };
    // The state's lock is held, so that the end of the query cannot overtake the reply.
    burst.downstream.pass(outbox, asker.qos, &message);
}

/// Returns the stack of a reply with the records of this node, if it has one and its query is open.
fn passed_stack(shared: &Shared, face: FaceId, response: &Response<'_>) -> Option<TsStackBuf> {
    let stack = response.ts_stack?;
    let asker = shared
        .state
        .lock()
        .table
        .origin_of_query(face, response.rid)?;
    let mut stack = shared.recorded(stack, TsStack::ROUTE);
    if asker.face == shared.local {
        shared.record(&mut stack, TsStack::RECEIVE);
    }
    Some(stack)
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
            parameters: passing.request.body.parameters,
            payload: passing.request.body.body.map(|body| body.payload),
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
            let filtered = Filtered {
                face: hop.face,
                key: Some(self.key),
                view: self.view,
            };
            let Some(qos) = filtered.egress(state) else {
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
        ts_stack: response.ts_stack,
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
