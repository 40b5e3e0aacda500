// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes in front of the payload of a PUSH, as one neighbour gets them: the encoder writes the key
//! in the neighbour's spelling, its node id and, where the node gives one, a timestamp. Everything
//! else of a forwarded message stays as it came.

mod block;
mod header_template;

pub use block::{HeadBlock, NumberedFront, NumberedHead, PreparedHead, ShortHead};
pub use header_template::{Copied, HeaderTemplate};

use crate::{
    body::{PushBody, Put, splice_timestamp},
    id::EntityGlobalId,
    network::{NodeId, Push, PushRun, TsStack},
    qos::Qos,
    timestamp::Timestamp,
    wire_expr::WireExpr,
    writer::{Encode, EncodeError, Writer},
};

/// The common beginning of all messages of one kind for one neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PushHead<'a> {
    wire_expr: WireExpr<'a>,
    qos: Qos,
    node_id: NodeId,
}

impl<'a> PushHead<'a> {
    /// Creates a head with the key as the neighbour reads it, and the routing context it is to see:
    /// [`NodeId::ITSELF`] unless both are routers.
    #[inline]
    pub const fn new(wire_expr: WireExpr<'a>, qos: Qos, node_id: NodeId) -> Self {
        PushHead {
            wire_expr,
            qos,
            node_id,
        }
    }

    /// Returns the head of a message that begins here; its payload, of `payload_len` bytes, is sent
    /// separately.
    #[inline]
    pub const fn of(self, body: &'a PushBody<'a>, payload_len: usize) -> NewHead<'a> {
        NewHead {
            head: self,
            body,
            payload_len,
        }
    }

    /// Returns the head of `push`, which is forwarded; `raw_body` is its body as it came, or shorter than its payload if
    /// that came in shared memory: then the head is written anew. A `stamp`
    /// becomes the timestamp of a PUT; a DEL keeps its own.
    #[inline]
    pub fn passing(
        self,
        push: &'a Push<'a>,
        raw_body: &'a [u8],
        stamp: Option<Timestamp>,
    ) -> PassedHead<'a> {
        let (payload, given) = match &push.body {
            PushBody::Put(put) => (put.payload, &put.timestamp),
            PushBody::Del(del) => (&[][..], &del.timestamp),
        };
        let replaces = stamp.is_some() && given.is_some();
        let raw = front_of(raw_body, payload);
        PassedHead {
            head: self,
            raw: raw.unwrap_or(&[]),
            stamp,
            push: (replaces || raw.is_none() || !push.is_head_and_body()).then_some(push),
        }
    }

    /// Prepares the head of many PUTs like `put`, which differ in their payloads only. `None` if it
    /// is too long to be copied as a block, as one with a key in full is.
    pub fn prepare(self, put: &Put<'_>) -> Option<PreparedHead> {
        PreparedHead::new(&self, put)
    }

    /// Prepares the head of many PUTs like `put` of this source, which differ in their payloads and
    /// their numbers only. `None` as for [`prepare`](Self::prepare), and if `put` has an attachment
    /// or unknown extensions.
    pub fn prepare_numbered(self, put: &Put<'_>, source: &EntityGlobalId) -> Option<NumberedHead> {
        NumberedHead::new(self, put, source)
    }

    /// Prepares the heads of the messages of `run`, which are forwarded. They get times in steps of
    /// 1 from `first` on if there is one: then they must not have any. Payloads of `payload_max`
    /// bytes and more are left to the caller, which sends them without a copy.
    pub fn stencil(
        self,
        first: Option<Timestamp>,
        payload_max: usize,
        run: &PushRun<'_>,
    ) -> HeaderTemplate<'a> {
        HeaderTemplate::new(self, first, payload_max, run)
    }

    /// Writes the fields before the body.
    #[inline(always)]
    fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        Push::encode_head(&self.wire_expr, self.qos, self.node_id, writer)
    }
}

/// The bytes in front of the payload of a message that begins here.
#[derive(Debug, Clone, Copy)]
pub struct NewHead<'a> {
    head: PushHead<'a>,
    body: &'a PushBody<'a>,
    payload_len: usize,
}

impl<'a> NewHead<'a> {
    /// Adds a time-stamp stack.
    #[cold]
    pub fn with_stack(self, stack: TsStack<'a>) -> StackedHead<'a> {
        StackedHead { new: self, stack }
    }
}

impl Encode for NewHead<'_> {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let start = writer.position();
        let written = self.head.write(writer);
        let written = written.and_then(|()| self.body.encode_head(self.payload_len, writer));
        if written.is_err() {
            writer.rewind(start);
        }
        written
    }
}

/// The bytes in front of the payload of a message that begins here, with a time-stamp stack.
#[derive(Debug, Clone, Copy)]
pub struct StackedHead<'a> {
    new: NewHead<'a>,
    stack: TsStack<'a>,
}

impl Encode for StackedHead<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let NewHead {
            head,
            body,
            payload_len,
        } = self.new;
        let push = Push {
            qos: head.qos,
            node_id: head.node_id,
            ts_stack: Some(self.stack),
            ..Push::new(head.wire_expr, *body)
        };
        writer.all_or_nothing(|writer| {
            push.write_head(writer)?;
            body.encode_head(payload_len, writer)
        })
    }
}

/// The bytes in front of the payload of a forwarded message.
#[derive(Debug, Clone, Copy)]
pub struct PassedHead<'a> {
    head: PushHead<'a>,
    /// The body as it came, without its payload.
    raw: &'a [u8],
    stamp: Option<Timestamp>,
    /// The message, if it has to be written anew: it has fields outside of head and body, or loses
    /// its timestamp.
    push: Option<&'a Push<'a>>,
}

impl PassedHead<'_> {
    #[cold]
    fn write_anew(&self, push: &Push<'_>, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let mut push = *push;
        push.wire_expr = self.head.wire_expr;
        push.qos = self.head.qos;
        push.node_id = self.head.node_id;
        let mut payload_len = 0;
        if let PushBody::Put(put) = &mut push.body {
            put.timestamp = self.stamp.or(put.timestamp);
            payload_len = put.payload.len();
        }
        push.write_head(writer)?;
        push.body.encode_head(payload_len, writer)
    }
}

impl Encode for PassedHead<'_> {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let start = writer.position();
        let written = match self.push {
            Some(push) => self.write_anew(push, writer),
            None => self.head.write(writer).and_then(|()| {
                let rest = match &self.stamp {
                    Some(stamp) => splice_timestamp(self.raw, stamp, writer)?,
                    None => self.raw,
                };
                writer.bytes(rest)
            }),
        };
        if written.is_err() {
            writer.rewind(start);
        }
        written
    }
}

/// Returns a body as it came, without the payload that it ends with; `None` for a body whose payload came elsewhere.
#[inline]
fn front_of<'a>(raw_body: &'a [u8], payload: &[u8]) -> Option<&'a [u8]> {
    raw_body.get(..raw_body.len().checked_sub(payload.len())?)
}

#[cfg(test)]
mod tests;
