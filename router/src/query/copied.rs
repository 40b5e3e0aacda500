// SPDX-License-Identifier: MIT OR Apache-2.0

//! An answer that has to wait for its turn: a copy that shares large payloads.

use zonda_codec::{
    Del, Encoding, EntityGlobalId, KeyExpr, Payload, PushBody, Put, Qos, RawExtensions, SourceInfo,
    Timestamp, ZSlice,
};

use crate::query::{
    Answer, AnswerBody,
    open::{OpenQuestion, TIMEOUT_TEXT},
    owned::{OwnedEncoding, own},
};

/// What an answer costs beside its payload.
const OVERHEAD: usize = 256;

/// An answer that borrows nothing.
pub(crate) struct Copied {
    key: KeyExpr<'static>,
    responder: Option<EntityGlobalId>,
    kind: Kind,
    encoding: OwnedEncoding,
    timestamp: Option<Timestamp>,
    source_info: Option<SourceInfo>,
    attachment: Option<Payload>,
    payload: Payload,
}

#[derive(Clone, Copy)]
enum Kind {
    Put,
    Del,
    Error,
}

impl Copied {
    pub(crate) fn of(answer: &Answer<'_>) -> Self {
        let (key, responder) = (answer.key.clone().into_owned(), answer.responder);
        let plain = |kind, encoding: Encoding<'_>| Copied {
            key,
            responder,
            kind,
            encoding: OwnedEncoding::from(encoding),
            timestamp: None,
            source_info: None,
            attachment: None,
            payload: own(answer.block, answer.payload()),
        };
        let share = |bytes: &[u8]| own(answer.block, bytes);
        match answer.body {
            AnswerBody::Sample(PushBody::Put(put)) => Copied {
                timestamp: put.timestamp,
                source_info: put.source_info,
                attachment: put.attachment.map(share),
                ..plain(Kind::Put, put.encoding)
            },
            AnswerBody::Sample(PushBody::Del(del)) => Copied {
                timestamp: del.timestamp,
                source_info: del.source_info,
                attachment: del.attachment.map(share),
                ..plain(Kind::Del, Encoding::BYTES)
            },
            AnswerBody::Error { encoding, .. } => plain(Kind::Error, encoding),
        }
    }

    /// The error of a branch that did not end in time.
    pub(crate) fn timeout(question: &OpenQuestion) -> Self {
        Copied {
            key: question.key().clone(),
            responder: None,
            kind: Kind::Error,
            encoding: OwnedEncoding::from(Encoding::BYTES),
            timestamp: None,
            source_info: None,
            attachment: None,
            payload: Payload::from(TIMEOUT_TEXT),
        }
    }

    /// The memory it keeps, about.
    pub(crate) fn weight(&self) -> usize {
        OVERHEAD + self.payload.as_slice().len() + self.key.as_str().len()
    }

    /// Calls `with` with the answer that this is a copy of.
    pub(crate) fn lend(&self, qos: Qos, with: impl FnOnce(&Answer<'_>)) {
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
            Kind::Put | Kind::Del => AnswerBody::Sample(&sample),
            Kind::Error => AnswerBody::Error {
                encoding: self.encoding.borrowed(),
                payload: block.as_slice(),
            },
        };
        with(&Answer {
            key: &self.key,
            responder: self.responder,
            body,
            block,
            qos,
        });
    }
}
