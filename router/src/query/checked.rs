// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries and replies in the form that filters see.

use zonda_codec::{KeyExpr, PushBody, Qos, Query, Reliability, ResponseBody};

use crate::{
    config::MessageKind,
    flow::link_filters::{LinkSide, filters_of},
    hooks::{Filters, MessageView},
    node::state::State,
};

/// Returns the QoS with which a query or reply on `key` passes the filters of a neighbour on one
/// side; `None` if they reject it, which is counted. `key` is `None` if it could not be resolved. Messages of
/// this node's own session pass unchanged.
pub(crate) fn carried(
    hooks: &Filters,
    state: &State,
    side: LinkSide,
    key: Option<&KeyExpr<'_>>,
    seen: MessageView,
) -> Option<Qos> {
    match hooks.is_empty() {
        true => Some(seen.qos),
        false => filters_of(hooks, state, side, key).judge(seen),
    }
}

/// Returns the filters' view of a query with a payload of `payload_len` bytes.
pub(crate) fn seen_query(query: &Query<'_>, payload_len: usize, qos: Qos) -> MessageView {
    MessageView {
        kind: MessageKind::Query,
        payload: payload_len,
        attachment: query.attachment.map_or(0, <[u8]>::len),
        qos,
        reliability: Reliability::Reliable,
    }
}

/// Returns the filters' view of a reply with a payload of `payload_len` bytes. A delete has no
/// payload.
pub(crate) fn seen_reply(body: &ResponseBody<'_>, payload_len: usize, qos: Qos) -> MessageView {
    let (payload, attachment) = match body {
        ResponseBody::Reply(reply) => match &reply.payload {
            PushBody::Put(put) => (payload_len, put.attachment),
            PushBody::Del(del) => (0, del.attachment),
        },
        ResponseBody::Err(_) => (payload_len, None),
    };
    MessageView {
        kind: MessageKind::Reply,
        payload,
        attachment: attachment.map_or(0, <[u8]>::len),
        qos,
        reliability: Reliability::Reliable,
    }
}

/// Returns the payload's length of a received reply.
pub(crate) fn payload_len(body: &ResponseBody<'_>) -> usize {
    match body {
        ResponseBody::Reply(reply) => match &reply.payload {
            PushBody::Put(put) => put.payload.len(),
            PushBody::Del(_) => 0,
        },
        ResponseBody::Err(error) => error.payload.len(),
    }
}
