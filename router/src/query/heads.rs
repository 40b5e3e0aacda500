// SPDX-License-Identifier: MIT OR Apache-2.0

//! Heads of queries and replies: the bytes in front of the payload.

use zonda_codec::{
    Encode, EncodeError, EntityGlobalId, Qos, Request, ResponseBody, ResponseHead, WireExpr, Writer,
};

use crate::table::QueryOrigin;

/// A REQUEST of this node's own, up to its payload.
pub(crate) struct RequestHead<'a> {
    pub(crate) request: Request<'a>,
    pub(crate) payload_len: usize,
}

impl Encode for RequestHead<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.request.encode_head(writer)?;
            self.request.body.encode_head(self.payload_len, writer)
        })
    }
}

/// A REQUEST that this node forwards, up to its body.
pub(crate) struct PassedHead<'a>(pub(crate) Request<'a>);

impl Encode for PassedHead<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        self.0.encode_head(writer)
    }
}

/// A RESPONSE of this node's own, up to its payload.
pub(crate) struct ReplyHead<'a> {
    pub(crate) head: ResponseHead<'a>,
    pub(crate) body: &'a ResponseBody<'a>,
    pub(crate) payload_len: usize,
}

impl Encode for ReplyHead<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.head.encode(writer)?;
            match self.body {
                ResponseBody::Reply(reply) => reply.encode_head(self.payload_len, writer),
                ResponseBody::Err(error) => error.encode_head(self.payload_len, writer),
            }
        })
    }
}

/// Returns the head of a response to `asker`: query id, QoS, and the key in full.
pub(crate) fn response<'a>(
    asker: &QueryOrigin,
    key: &'a str,
    responder: Option<EntityGlobalId>,
) -> ResponseHead<'a> {
    ResponseHead {
        rid: asker.rid,
        wire_expr: WireExpr::full(key),
        qos: asker.qos,
        timestamp: None,
        responder,
        ts_stack: None,
    }
}

/// Returns true if a reply of this QoS is dropped when the asker's lane is full.
pub(crate) fn may_drop(qos: Qos) -> bool {
    qos.congestion_control() != zonda_codec::CongestionControl::Block
}
