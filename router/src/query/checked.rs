// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queries and replies in the form that filters see.

use zonda_codec::{KeyExpr, PushBody, Qos, Query, Reliability, ResponseBody};

use crate::{
    config::{Flow, MessageKind},
    filter::{MessageView, bound, decide},
    node::state::State,
    table::FaceId,
};

/// A message between this node and the neighbour at `face`, for the filters.
#[derive(Clone, Copy)]
pub(crate) struct Filtered<'a> {
    pub(crate) face: FaceId,
    /// The key; `None` if it could not be resolved.
    pub(crate) key: Option<&'a KeyExpr<'a>>,
    pub(crate) view: MessageView,
}

impl Filtered<'_> {
    /// Returns the QoS with which the message passes the filters of its source; `None` if they drop
    /// it.
    pub(crate) fn ingress(self, state: &mut State) -> Option<Qos> {
        self.pass(state, Flow::Ingress)
    }

    /// Returns the QoS with which the message passes the filters of its destination; `None` if they
    /// drop it.
    pub(crate) fn egress(self, state: &mut State) -> Option<Qos> {
        self.pass(state, Flow::Egress)
    }

    fn pass(self, state: &mut State, flow: Flow) -> Option<Qos> {
        let bound = bound(state, self.face, flow, self.key);
        decide(&bound, self.view)
    }
}

/// Returns the filters' view of a query with a payload of `payload_len` bytes.
pub(crate) fn view_of_query(query: &Query<'_>, payload_len: usize, qos: Qos) -> MessageView {
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
pub(crate) fn view_of_reply(body: &ResponseBody<'_>, payload_len: usize, qos: Qos) -> MessageView {
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
