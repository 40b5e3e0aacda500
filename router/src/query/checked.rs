// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries and replies as hooks see them.

use zonda_codec::{KeyExpr, PushBody, Qos, Query, Reliability, ResponseBody};

use crate::{
    config::{Flow, MessageKind},
    hooks::Seen,
    node::{shared::Shared, state::State},
    table::FaceId,
};

impl Shared {
    /// How a query or a reply on `key` that passes the links of a neighbour is carried; `None` if it does not pass, which is
    /// counted. Without a key it could not be found out. At this node's own session everything passes as it is.
    pub(crate) fn carried(
        &self,
        state: &State,
        face: FaceId,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
        seen: Seen,
    ) -> Option<Qos> {
        match self.hooks.is_empty() {
            true => Some(seen.qos),
            false => self.checks(state, face, flow, key).judge(seen),
        }
    }
}

/// A query that is carried like this, with a payload of this length.
pub(crate) fn seen_query(query: &Query<'_>, payload_len: usize, qos: Qos) -> Seen {
    Seen {
        kind: MessageKind::Query,
        payload: payload_len,
        attachment: query.attachment.map_or(0, <[u8]>::len),
        qos,
        reliability: Reliability::Reliable,
    }
}

/// A reply that is carried like this, with a payload of this length. One that says that there is no value has none.
pub(crate) fn seen_reply(body: &ResponseBody<'_>, payload_len: usize, qos: Qos) -> Seen {
    let (payload, attachment) = match body {
        ResponseBody::Reply(reply) => match &reply.payload {
            PushBody::Put(put) => (payload_len, put.attachment),
            PushBody::Del(del) => (0, del.attachment),
        },
        ResponseBody::Err(_) => (payload_len, None),
    };
    Seen {
        kind: MessageKind::Reply,
        payload,
        attachment: attachment.map_or(0, <[u8]>::len),
        qos,
        reliability: Reliability::Reliable,
    }
}

/// The length of the payload in a reply as it came.
pub(crate) fn payload_len(body: &ResponseBody<'_>) -> usize {
    match body {
        ResponseBody::Reply(reply) => match &reply.payload {
            PushBody::Put(put) => put.payload.len(),
            PushBody::Del(_) => 0,
        },
        ResponseBody::Err(error) => error.payload.len(),
    }
}
