// SPDX-License-Identifier: MIT OR Apache-2.0
//! QUERY: a query of keys.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|P|C|  0x03   |
//! +-+-+-+---------+
//! | vle consolid. | if C
//! | parameters    | if P: vle length, text
//! | extensions    | if Z: 0x41 source info, 0x43 body (encoding, payload), 0x45 attachment, unknown ones
//! +---------------+
//! ```

use crate::{
    body::{Consolidation, KEY_SOURCE_INFO, id, shared, write_source_info},
    encoding::Encoding,
    error::DecodeError,
    extension::{self, Chain, MORE, RawExtensions},
    id::SourceInfo,
    reader::Reader,
    writer::{Encode, EncodeError, Writer},
};

pub(crate) const FLAG_CONSOLIDATION: u8 = 0x20;
pub(crate) const FLAG_PARAMETERS: u8 = 0x40;
pub(crate) const KEY_BODY: u8 = 0x43;
/// Extension that marks the next body as one in shared memory, which has another form. It is not
/// marked as mandatory, but a reader that skips it reads the body as something else than a reader
/// that knows it: the length of the body then counts the bytes that its slices name.
pub(crate) const KEY_SHARED_BODY: u8 = 0x04;
const KEY_ATTACHMENT: u8 = 0x45;
const KNOWN: &[u8] = &[KEY_SOURCE_INFO, KEY_BODY, KEY_ATTACHMENT];

/// The payload of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryBody<'a> {
    /// Encoding of the payload.
    pub encoding: Encoding<'a>,
    /// The payload.
    pub payload: &'a [u8],
}

/// A query of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Query<'a> {
    /// The merge of the replies by the querier.
    pub consolidation: Consolidation,
    /// The selector's parameters, `k=v;k2=v2`; opaque here.
    pub parameters: &'a str,
    /// The querying source.
    pub source_info: Option<SourceInfo>,
    /// A payload for the queryable.
    pub body: Option<QueryBody<'a>>,
    /// The user's own bytes.
    pub attachment: Option<&'a [u8]>,
    /// Unknown extensions, to be forwarded.
    pub unknown: RawExtensions<'a>,
}

impl<'a> Query<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let header = reader.u8()?;
        if header & id::MASK != id::QUERY {
            return Err(reader.unknown_id("request body", header & id::MASK));
        }
        // Fields that the header announces.
        let mut query = Query::default();
        if header & FLAG_CONSOLIDATION != 0 {
            query.consolidation = Consolidation::read(reader)?;
        }
        if header & FLAG_PARAMETERS != 0 {
            query.parameters = reader.str_z64()?;
        }
        // Extensions; the unknown ones are kept to be forwarded.
        let chain = *reader;
        let mut more = header;
        let (mut any_unknown, mut is_shared) = (false, false);
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_SOURCE_INFO => {
                    query.source_info = Some(reader.whole_section_z32(SourceInfo::read)?);
                }
                KEY_BODY if is_shared => shared::read_over_body(reader)?,
                KEY_BODY => {
                    let mut section = reader.section_z32()?;
                    query.body = Some(QueryBody {
                        encoding: Encoding::read(&mut section)?,
                        payload: section.rest(),
                    });
                }
                KEY_ATTACHMENT => query.attachment = Some(reader.bytes_z32()?),
                KEY_SHARED_BODY => is_shared = true,
                _ => {
                    extension::skip(more, reader)?;
                    any_unknown = true;
                }
            }
        }
        // A shared body was skipped, so the query is incomplete.
        if is_shared {
            return Err(DecodeError::SharedMemory {
                end: reader.position(),
            });
        }
        if any_unknown {
            query.unknown = RawExtensions::unknown_of(reader.since(chain), KNOWN);
        }
        Ok(query)
    }
}

impl Query<'_> {
    /// Writes everything but the payload of the query's body, with `payload_len` as its length; the
    /// caller appends it. The body, whose own payload is ignored, comes last.
    ///
    /// # Errors
    /// [`EncodeError`] if that does not fit or the length exceeds 32 bits; the position is then unchanged.
    pub fn encode_head(
        &self,
        payload_len: usize,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = self.write_options(writer)?;
            if let Some(attachment) = self.attachment {
                chain.bytes(writer, KEY_ATTACHMENT, attachment)?;
            }
            chain.raw(writer, &self.unknown)?;
            if let Some(body) = &self.body {
                let length = body.encoding.wire_len() + payload_len;
                chain.section(writer, KEY_BODY, length)?;
                body.encoding.write(writer)?;
            }
            Ok(())
        })
    }

    /// Writes header, consolidation, parameters and source info.
    fn write_options(&self, writer: &mut Writer<'_>) -> Result<Chain, EncodeError> {
        let mut header = id::QUERY | self.consolidation.flag(FLAG_CONSOLIDATION);
        if !self.parameters.is_empty() {
            header |= FLAG_PARAMETERS;
        }
        let mut chain = Chain::after(writer.position());
        writer.u8(header)?;
        self.consolidation.write(writer)?;
        if !self.parameters.is_empty() {
            writer.bytes_vle(self.parameters.as_bytes())?;
        }
        write_source_info(&self.source_info, &mut chain, writer)?;
        Ok(chain)
    }
}

impl Encode for Query<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = self.write_options(writer)?;
            if let Some(body) = &self.body {
                let length = body.encoding.wire_len() + body.payload.len();
                chain.section(writer, KEY_BODY, length)?;
                body.encoding.write(writer)?;
                writer.bytes(body.payload)?;
            }
            if let Some(attachment) = self.attachment {
                chain.bytes(writer, KEY_ATTACHMENT, attachment)?;
            }
            chain.raw(writer, &self.unknown)
        })
    }
}
