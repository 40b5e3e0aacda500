// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries and replies as hooks see them.

use zonda_codec::{KeyExpr, PushBody, Query, ResponseBody};

use crate::{
    config::{Flow, MessageKind},
    hooks::Seen,
    node::{shared::Shared, state::State},
    table::FaceId,
};

impl Shared {
    /// Whether a query or a reply on `key` passes the links of a neighbour; what does not is counted. Without a key it could
    /// not be found out. At this node's own session everything passes.
    pub(crate) fn passes(
        &self,
        state: &State,
        face: FaceId,
        flow: Flow,
        key: Option<&KeyExpr<'_>>,
        seen: Seen,
    ) -> bool {
        self.hooks.is_empty() || self.checks(state, face, flow, key).judge(seen)
    }
}

/// A query with a payload of this length.
pub(crate) fn seen_query(query: &Query<'_>, payload_len: usize) -> Seen {
    Seen {
        kind: MessageKind::Query,
        bytes: payload_len + query.attachment.map_or(0, <[u8]>::len),
    }
}

/// A reply with a payload of this length. One that says that there is no value has none.
pub(crate) fn seen_reply(body: &ResponseBody<'_>, payload_len: usize) -> Seen {
    let bytes = match body {
        ResponseBody::Reply(reply) => match &reply.payload {
            PushBody::Put(put) => payload_len + put.attachment.map_or(0, <[u8]>::len),
            PushBody::Del(del) => del.attachment.map_or(0, <[u8]>::len),
        },
        ResponseBody::Err(_) => payload_len,
    };
    Seen {
        kind: MessageKind::Reply,
        bytes,
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
