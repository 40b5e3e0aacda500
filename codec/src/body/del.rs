// SPDX-License-Identifier: MIT OR Apache-2.0
//! DEL: the end of a key's value.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|X|T|  0x02   |
//! +-+-+-+---------+
//! | timestamp     | if T
//! | extensions    | if Z: 0x41 source info, 0x42 attachment, unknown ones
//! +---------------+
//! ```

use crate::{
    body::{KEY_SOURCE_INFO, id, write_source_info},
    error::DecodeError,
    extension::{self, Chain, MORE, RawExtensions},
    id::SourceInfo,
    reader::Reader,
    timestamp::Timestamp,
    writer::{Encode, EncodeError, Writer},
};

const FLAG_TIMESTAMP: u8 = 0x20;
const KEY_ATTACHMENT: u8 = 0x42;
const KNOWN: &[u8] = &[KEY_SOURCE_INFO, KEY_ATTACHMENT];

/// The end of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Del<'a> {
    /// Time of the deletion.
    pub timestamp: Option<Timestamp>,
    /// The deleting source.
    pub source_info: Option<SourceInfo>,
    /// The user's own bytes.
    pub attachment: Option<&'a [u8]>,
    /// Unknown extensions, to be forwarded.
    pub unknown: RawExtensions<'a>,
}

impl<'a> Del<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut del = Del::default();
        if header & FLAG_TIMESTAMP != 0 {
            del.timestamp = Some(Timestamp::read(reader)?);
        }
        // Extensions; the unknown ones are kept to be forwarded.
        let chain = *reader;
        let mut more = header;
        let mut any_unknown = false;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_SOURCE_INFO => {
                    del.source_info = Some(reader.whole_section_z32(SourceInfo::read)?);
                }
                KEY_ATTACHMENT => del.attachment = Some(reader.bytes_z32()?),
                _ => {
                    extension::skip(more, reader)?;
                    any_unknown = true;
                }
            }
        }
        if any_unknown {
            del.unknown = RawExtensions::unknown_of(reader.since(chain), KNOWN);
        }
        Ok(del)
    }
}

impl Encode for Del<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            match &self.timestamp {
                None => writer.u8(id::DEL)?,
                Some(timestamp) => {
                    writer.u8(id::DEL | FLAG_TIMESTAMP)?;
                    timestamp.write(writer)?;
                }
            }
            write_source_info(&self.source_info, &mut chain, writer)?;
            if let Some(attachment) = self.attachment {
                chain.bytes(writer, KEY_ATTACHMENT, attachment)?;
            }
            chain.raw(writer, &self.unknown)
        })
    }
}
