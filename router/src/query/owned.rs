// SPDX-License-Identifier: MIT OR Apache-2.0

//! Parts of messages that outlive their receive buffer.

use zonda_codec::{Encoding, Payload, ZSlice, payload::shared_part};
use zonda_transport::protocol::tx::SHARE_BYTES_MIN;

use crate::model::Value;

/// Returns bytes of a message in `block` to keep: a share of the block if they are many, else a
/// copy, so that a few bytes do not keep a whole block allocated.
pub(crate) fn own(block: &ZSlice, part: &[u8]) -> Payload {
    if part.len() < SHARE_BYTES_MIN {
        return Payload::from(part);
    }
    Payload::from(shared_part(block, part))
}

/// An encoding that borrows nothing.
#[derive(Debug, Clone)]
pub(crate) struct OwnedEncoding {
    id: u16,
    schema: Option<Box<[u8]>>,
}

impl OwnedEncoding {
    pub(crate) fn borrowed(&self) -> Encoding<'_> {
        Encoding {
            id: self.id,
            schema: self.schema.as_deref(),
        }
    }
}

impl From<Encoding<'_>> for OwnedEncoding {
    fn from(encoding: Encoding<'_>) -> Self {
        OwnedEncoding {
            id: encoding.id,
            schema: encoding.schema.map(Box::from),
        }
    }
}

/// Returns the bytes of a value, shared; borrowed bytes are copied.
pub(crate) fn shared(value: Value<'_>) -> Payload {
    match value {
        Value::Borrowed(bytes) => Payload::from(bytes),
        Value::Shared(payload) => payload.clone(),
    }
}
