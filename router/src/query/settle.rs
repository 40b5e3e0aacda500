// SPDX-License-Identifier: MIT OR Apache-2.0

//! End of queries whose branches have ended, and dispatch of those that were held and have a
//! queryable now.

use std::{sync::Arc, time::Instant};

use zonda_codec::{
    Encoding, EntityGlobalId, ErrBody, RawExtensions, Response, ResponseBody, ResponseFinal,
};
use zonda_transport::protocol::tx::Tail;

use crate::{
    flow::deliver::keep,
    node::{shared::Shared, state::State},
    query::{
        after::{After, Call},
        heads::response,
        lost_link::LostLink,
        open::Next,
        outgoing::{QueryEnd, TIMEOUT_TEXT},
        send,
    },
    table::{Ended, Ending, QueryOrigin},
};

/// Ends queries in the table's list of ended ones, and sends those that were held and have a
/// queryable now.
#[inline]
pub(crate) fn settle_queries(shared: &Shared, state: &mut State, after: &mut After) {
    if state.table.may_release_held() || state.table.may_watch_held() {
        release_held(shared, state, after);
    }
    if state.table.has_ended() {
        end_queries(shared, state, after);
    }
}

#[cold]
fn release_held(shared: &Shared, state: &mut State, after: &mut After) {
    for (rid, branches) in state.table.release_held(Instant::now()) {
        if let Some(held) = state.queries.take_held(rid) {
            held.lend(|query| send::send_to_all(shared, &branches, query, state, after));
            after.asked.push(held);
        }
    }
    let State { table, actions, .. } = &mut *state;
    table.watch_held(actions);
    shared.carry_out(state, after);
}

#[inline(never)]
fn end_queries(shared: &Shared, state: &mut State, after: &mut After) {
    for Ended { origin: asker, how } in state.table.take_ended() {
        // The asker is this node's session: its sink gets the end.
        if asker.face == shared.local {
            let Some((query, held)) = state.queries.end(asker.rid) else {
                continue;
            };
            let (end, timeouts) = match how {
                Ending::Complete => (QueryEnd::Complete, 0),
                Ending::LinkLost(peer) => (QueryEnd::LinkLost { peer }, 0),
                Ending::TimedOut(open) => (QueryEnd::TimedOut, open),
            };
            if let Next::Drain(turn) = query.end(end, timeouts) {
                after.calls.push(Call::Drain(Arc::clone(&query), turn));
            }
            after.ended.push((query, held));
        // The asker is a neighbour: it gets an error for each unfinished branch, then the end.
        } else if let Some(face) = state.faces.get(&asker.face) {
            let (outbox, priority) = (&face.outbox, asker.qos.priority());
            match how {
                Ending::Complete => {}
                Ending::LinkLost(_) if !tells_losses(shared, &asker) => {}
                Ending::LinkLost(peer) => {
                    let text = LostLink { peer }.to_string();
                    let error = error(shared, &asker, text.as_bytes(), Encoding::ZENOH_STRING);
                    keep(&mut after.touched, outbox, priority, &error, Tail::NONE);
                }
                Ending::TimedOut(open) => {
                    let error = error(shared, &asker, TIMEOUT_TEXT, Encoding::BYTES);
                    for _ in 0..open {
                        keep(&mut after.touched, outbox, priority, &error, Tail::NONE);
                    }
                }
            }
            let end = ResponseFinal {
                rid: asker.rid,
                qos: asker.qos,
                timestamp: None,
            };
            keep(&mut after.touched, outbox, priority, &end, Tail::NONE);
        }
    }
}

/// Returns true if the asker gets an error when the link to a queried node is lost. A node of
/// another implementation gets the end alone, as from a router of its own.
fn tells_losses(shared: &Shared, asker: &QueryOrigin) -> bool {
    asker.hears_of_losses || shared.settings.query_losses_for_all
}

/// Returns the error reply for branches that will not answer.
fn error<'a>(
    shared: &Shared,
    asker: &QueryOrigin,
    payload: &'a [u8],
    encoding: Encoding<'a>,
) -> Response<'a> {
    let responder = EntityGlobalId {
        zid: shared.zid,
        eid: 0,
    };
    let error = ErrBody {
        encoding,
        source_info: None,
        unknown: RawExtensions::default(),
        payload,
    };
    let head = response(asker, "", Some(responder));
    head.with_body(ResponseBody::Err(error))
}
