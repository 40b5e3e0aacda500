// SPDX-License-Identifier: MIT OR Apache-2.0

//! Encoding of a publication's head and body without its payload.

use zonda_codec::{Del, PushBody, Put, RawExtensions, Timestamp};

use crate::model::{Publication, SampleKind};

/// Most bytes of payload and attachment that every node accepts by default (`max_message_size`),
/// less the headers.
pub(crate) const MESSAGE_BYTES_MAX: usize = (1 << 30) - HEADERS_BYTES_MAX;

/// Bytes reserved for the headers around payload and attachment in a message.
pub(crate) const HEADERS_BYTES_MAX: usize = 1 << 16;

/// Returns the body of a publication; senders pass the payload to the outbox separately.
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
