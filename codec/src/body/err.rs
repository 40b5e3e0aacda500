// SPDX-License-Identifier: MIT OR Apache-2.0
//! ERR: a query that could not be answered.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|E|X|  0x05   |
//! +-+-+-+---------+
//! | encoding      | if E
//! | extensions    | if Z: 0x41 source info, unknown ones
//! | z32 length    |
//! | payload       |
//! +---------------+
//! ```

use crate::{
    body::{KEY_SOURCE_INFO, id, shared, write_source_info},
    encoding::Encoding,
    error::DecodeError,
    extension::{self, Chain, MORE, RawExtensions},
    id::SourceInfo,
    reader::Reader,
    writer::{Encode, EncodeError, Writer},
};

const FLAG_ENCODING: u8 = 0x40;
const KNOWN: &[u8] = &[KEY_SOURCE_INFO, shared::KEY];

/// A query that could not be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrBody<'a> {
    /// Encoding of the payload.
    pub encoding: Encoding<'a>,
    /// The failing source.
    pub source_info: Option<SourceInfo>,
    /// Unknown extensions, to be forwarded.
    pub unknown: RawExtensions<'a>,
    /// The reason, for the user.
    pub payload: &'a [u8],
}

impl<'a> ErrBody<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut err = ErrBody::default();
        if header & FLAG_ENCODING != 0 {
            err.encoding = Encoding::read(reader)?;
        }
        // Extensions; the unknown ones are kept to be forwarded.
        let chain = *reader;
        let mut more = header;
        let mut any_unknown = false;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_SOURCE_INFO => {
                    err.source_info = Some(reader.whole_section_z32(SourceInfo::read)?);
                }
                // The reference announces a shared payload here, and then writes its bytes.
                shared::KEY => {}
                _ => {
                    extension::skip(more, reader)?;
                    any_unknown = true;
                }
            }
        }
        if any_unknown {
            err.unknown = RawExtensions::unknown_of(reader.since(chain), KNOWN);
        }
        err.payload = reader.bytes_z32()?;
        Ok(err)
    }
}

impl ErrBody<'_> {
    /// Writes everything up to and including the length of a payload of `payload_len` bytes, which
    /// the caller appends. `self.payload` is ignored.
    ///
    /// # Errors
    /// [`EncodeError`] if that does not fit or the length exceeds 32 bits; the position is then unchanged.
    pub fn encode_head(
        &self,
        payload_len: usize,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        if u32::try_from(payload_len).is_err() {
            return Err(EncodeError::TooLong);
        }
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            if self.encoding.is_default() {
                writer.u8(id::ERR)?;
            } else {
                writer.u8(id::ERR | FLAG_ENCODING)?;
                self.encoding.write(writer)?;
            }
            write_source_info(&self.source_info, &mut chain, writer)?;
            chain.raw(writer, &self.unknown)?;
            writer.vle(payload_len as u64)
        })
    }
}

impl Encode for ErrBody<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.encode_head(self.payload.len(), writer)?;
            writer.bytes(self.payload)
        })
    }
}
