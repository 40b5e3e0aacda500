// SPDX-License-Identifier: MIT OR Apache-2.0

//! A queued reply: a copy that shares large payloads.

use zonda_codec::{
    Del, Encoding, EntityGlobalId, KeyExpr, Payload, PushBody, Put, Qos, RawExtensions, SourceInfo,
    Timestamp, TsStackBuf, ZSlice,
};

use crate::query::{
    outgoing::{IncomingReply, ReplyBody, TIMEOUT_TEXT},
    owned::{OwnedEncoding, own},
};

/// Bytes that a queued reply is charged in addition to its payload and key.
const OVERHEAD: usize = 256;

/// A reply that borrows nothing.
pub(crate) struct CopiedReply {
    key: KeyExpr<'static>,
    responder: Option<EntityGlobalId>,
    kind: Kind,
    encoding: OwnedEncoding,
    timestamp: Option<Timestamp>,
    source_info: Option<SourceInfo>,
    attachment: Option<Payload>,
    payload: Payload,
    stack: Option<TsStackBuf>,
}

#[derive(Clone, Copy)]
enum Kind {
    Put,
    Del,
    Error,
}

impl CopiedReply {
    pub(crate) fn of(answer: &IncomingReply<'_>) -> Self {
        // Fields that puts, deletes and errors have in common.
        let (key, responder) = (answer.key.clone().into_owned(), answer.responder);
        let plain = |kind, encoding: Encoding<'_>| CopiedReply {
            key,
            responder,
            kind,
            encoding: OwnedEncoding::from(encoding),
            timestamp: None,
            source_info: None,
            attachment: None,
            payload: own(answer.block, answer.payload()),
            stack: answer.ts_stack.map(TsStackBuf::of),
        };
        let share = |bytes: &[u8]| own(answer.block, bytes);
        // Fields of samples only.
        match answer.body {
            ReplyBody::Sample(PushBody::Put(put)) => CopiedReply {
                timestamp: put.timestamp,
                source_info: put.source_info,
                attachment: put.attachment.map(share),
                ..plain(Kind::Put, put.encoding)
            },
            ReplyBody::Sample(PushBody::Del(del)) => CopiedReply {
                timestamp: del.timestamp,
                source_info: del.source_info,
                attachment: del.attachment.map(share),
                ..plain(Kind::Del, Encoding::BYTES)
            },
            ReplyBody::Error { encoding, .. } => plain(Kind::Error, encoding),
        }
    }

    /// Returns the error reply for a branch that did not end in time.
    pub(crate) fn timeout(key: &KeyExpr<'static>) -> Self {
        CopiedReply {
            key: key.clone(),
            responder: None,
            kind: Kind::Error,
            encoding: OwnedEncoding::from(Encoding::BYTES),
            timestamp: None,
            source_info: None,
            attachment: None,
            payload: Payload::from(TIMEOUT_TEXT),
            stack: None,
        }
    }

    /// Returns the approximate number of bytes that the copy occupies.
    pub(crate) fn weight(&self) -> usize {
        let stack = self.stack.as_ref().map_or(0, TsStackBuf::bytes);
        OVERHEAD + self.payload.as_slice().len() + self.key.as_str().len() + stack
    }

    /// Calls `with` with the reply of which this is a copy.
    pub(crate) fn lend(
        &self,
        qos: Qos,
        is_inside_query: bool,
        with: impl FnOnce(&IncomingReply<'_>),
    ) {
        // The sample is built first, because the body borrows from it.
        let block: &ZSlice = self.payload.as_zslice();
        let attachment = self.attachment.as_ref().map(Payload::as_slice);
        let unknown = RawExtensions::default();
        let sample = match self.kind {
            Kind::Put => PushBody::Put(Put {
                timestamp: self.timestamp,
                encoding: self.encoding.borrowed(),
                source_info: self.source_info,
                attachment,
                unknown,
                payload: block.as_slice(),
            }),
            Kind::Del | Kind::Error => PushBody::Del(Del {
                timestamp: self.timestamp,
                source_info: self.source_info,
                attachment,
                unknown,
            }),
        };
        let body = match self.kind {
            Kind::Put | Kind::Del => ReplyBody::Sample(&sample),
            Kind::Error => ReplyBody::Error {
                encoding: self.encoding.borrowed(),
                payload: block.as_slice(),
            },
        };
        with(&IncomingReply {
            key: &self.key,
            responder: self.responder,
            body,
            block,
            qos,
            is_inside_query,
            ts_stack: self.stack.as_ref().map(TsStackBuf::view),
        });
    }
}
