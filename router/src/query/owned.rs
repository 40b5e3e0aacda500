// SPDX-License-Identifier: MIT OR Apache-2.0

//! Parts of messages that outlive the buffer they came in.

use zonda_codec::{Encoding, Payload, ZSlice, payload::shared_part};
use zonda_transport::protocol::tx::SHARE_BYTES_MIN;

use crate::model::Value;

/// Bytes of a message in `block` to keep: a share of the block if they are many, else a copy, as a few bytes
/// should not keep a whole block.
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

/// The bytes of a value, shared; borrowed ones are copied.
pub(crate) fn shared(value: Value<'_>) -> Payload {
    match value {
        Value::Borrowed(bytes) => Payload::from(bytes),
        Value::Shared(payload) => payload.clone(),
    }
}
