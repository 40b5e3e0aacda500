// SPDX-License-Identifier: MIT OR Apache-2.0

//! The head of a publication: everything in front of its payload.

use zonda_codec::{
    Del, Encode, EncodeError, Push, PushBody, Put, Qos, RawExtensions, Timestamp, WireExpr, Writer,
};

use crate::model::{Publication, SampleKind};

/// Most bytes of payload and attachment that every node accepts by default (`max_message_size`), less the headers.
pub(crate) const MESSAGE_BYTES_MAX: usize = (1 << 30) - HEADERS_BYTES_MAX;

/// Room for what surrounds payload and attachment in a message.
pub(crate) const HEADERS_BYTES_MAX: usize = 1 << 16;

/// A PUSH up to its payload.
pub(crate) struct Head<'a> {
    pub(crate) wire_expr: WireExpr<'a>,
    pub(crate) qos: Qos,
    pub(crate) body: &'a PushBody<'a>,
    pub(crate) payload_len: usize,
}

impl Encode for Head<'_> {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let start = writer.position();
        let written = Push::encode_head(&self.wire_expr, self.qos, 0, writer).and_then(|()| {
            match self.body {
                PushBody::Put(put) => put.encode_head(self.payload_len, writer),
                PushBody::Del(del) => del.encode(writer),
            }
        });
        if written.is_err() {
            writer.rewind(start);
        }
        written
    }
}

/// The body of a publication; its payload is left out, it travels beside.
#[inline]
pub(crate) fn body<'a>(
    publication: &Publication<'a>,
    timestamp: Option<Timestamp>,
) -> PushBody<'a> {
    match publication.kind {
        SampleKind::Put => PushBody::Put(Put {
            timestamp,
            encoding: publication.encoding,
            source_info: publication.source_info,
            attachment: publication.attachment,
            unknown: RawExtensions::default(),
            payload: publication.payload.as_slice(),
        }),
        SampleKind::Delete => PushBody::Del(Del {
            timestamp,
            source_info: publication.source_info,
            attachment: publication.attachment,
            unknown: RawExtensions::default(),
        }),
    }
}
