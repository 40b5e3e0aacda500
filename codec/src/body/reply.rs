// SPDX-License-Identifier: MIT OR Apache-2.0
//! REPLY: a sample that answers a query.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|X|C|  0x04   |
//! +-+-+-+---------+
//! | vle consolid. | if C
//! | extensions    | if Z: unknown ones only
//! | PUT or DEL    |
//! +---------------+
//! ```

use crate::{
    body::{Consolidation, PushBody, id},
    error::DecodeError,
    extension::{self, Chain, MORE, RawExtensions},
    reader::Reader,
    writer::{Encode, EncodeError, Writer},
};

pub(crate) const FLAG_CONSOLIDATION: u8 = 0x20;

/// A sample that answers a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// The merge of the replies by the querier.
    pub consolidation: Consolidation,
    /// Unknown extensions, to be forwarded.
    pub unknown: RawExtensions<'a>,
    /// The sample.
    pub payload: PushBody<'a>,
}

impl<'a> Reply<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let consolidation = if header & FLAG_CONSOLIDATION != 0 {
            Consolidation::read(reader)?
        } else {
            Consolidation::Auto
        };
        let mut unknown = RawExtensions::NONE;
        if header & MORE != 0 {
            let chain = *reader;
            extension::skip_chain(header, reader)?;
            unknown = RawExtensions::unknown_of(reader.since(chain), &[]);
        }
        Ok(Reply {
            consolidation,
            unknown,
            payload: PushBody::read(reader)?,
        })
    }
}

impl Reply<'_> {
    /// Writes everything up to and including the length of a payload of `payload_len` bytes, which the caller appends.
    /// A reply that deletes is written as a whole.
    ///
    /// # Errors
    /// [`EncodeError`] if that does not fit or the length exceeds 32 bits; the position is then unchanged.
    pub fn encode_head(
        &self,
        payload_len: usize,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.write_options(writer)?;
            self.payload.encode_head(payload_len, writer)
        })
    }

    fn write_options(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let mut chain = Chain::after(writer.position());
        writer.u8(id::REPLY | self.consolidation.flag(FLAG_CONSOLIDATION))?;
        self.consolidation.write(writer)?;
        chain.raw(writer, &self.unknown)
    }
}

impl Encode for Reply<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.write_options(writer)?;
            self.payload.encode(writer)
        })
    }
}
