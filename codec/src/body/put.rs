// SPDX-License-Identifier: MIT OR Apache-2.0
//! PUT: a value for a key.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|E|T|  0x01   |
//! +-+-+-+---------+
//! | timestamp     | if T
//! | encoding      | if E
//! | extensions    | if Z: 0x41 source info, 0x43 attachment, unknown ones
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
    timestamp::Timestamp,
    writer::{Encode, EncodeError, Writer},
};

pub(crate) const FLAG_ENCODING: u8 = 0x40;
const KEY_ATTACHMENT: u8 = 0x43;
const KNOWN: &[u8] = &[KEY_SOURCE_INFO, KEY_ATTACHMENT];

/// A value for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Put<'a> {
    /// Time of the publication; routers add it if it is missing.
    pub timestamp: Option<Timestamp>,
    /// Encoding of the payload.
    pub encoding: Encoding<'a>,
    /// The publishing source.
    pub source_info: Option<SourceInfo>,
    /// The user's own bytes that accompany the payload.
    pub attachment: Option<&'a [u8]>,
    /// Unknown extensions, to be forwarded.
    pub unknown: RawExtensions<'a>,
    /// The value.
    pub payload: &'a [u8],
}

impl<'a> Put<'a> {
    /// Flag in the header byte of a PUT in wire form: a timestamp is next.
    pub(crate) const FLAG_TIMESTAMP: u8 = 0x20;

    /// Creates a value without any other field.
    #[inline]
    pub const fn new(payload: &'a [u8]) -> Self {
        Put {
            timestamp: None,
            encoding: Encoding::BYTES,
            source_info: None,
            attachment: None,
            unknown: RawExtensions::NONE,
            payload,
        }
    }

    /// Reads a PUT that has only a payload and perhaps a timestamp; `None` for all other ones and
    /// for errors.
    #[inline(always)]
    pub(crate) fn read_usual(reader: &mut Reader<'a>) -> Option<Self> {
        let header = reader.u8().ok()?;
        let mut timestamp = None;
        if header != id::PUT {
            if header != id::PUT | Self::FLAG_TIMESTAMP {
                return None;
            }
            timestamp = Some(Timestamp::read(reader).ok()?);
        }
        Some(Put {
            timestamp,
            encoding: Encoding::BYTES,
            source_info: None,
            attachment: None,
            unknown: RawExtensions::NONE,
            payload: reader.bytes_z32().ok()?,
        })
    }

    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut put = Self::read_head(header, reader)?;
        put.payload = reader.bytes_z32()?;
        Ok(put)
    }

    /// Reads the fields up to the payload's length.
    #[inline]
    fn read_head(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut put = Put::new(&[]);
        if header & (Self::FLAG_TIMESTAMP | FLAG_ENCODING | MORE) != 0 {
            put.read_options(header, reader)?;
        }
        Ok(put)
    }

    /// Returns the offset in `raw`, a PUT in wire form, of the length of its payload, found by
    /// reading the fields in front of it.
    #[inline]
    pub(crate) fn length_at(raw: &'a [u8]) -> Option<usize> {
        let mut reader = Reader::new(raw);
        let header = reader.u8().ok()?;
        Self::read_head(header, &mut reader).ok()?;
        Some(reader.position())
    }

    /// Reads the fields between header and payload.
    #[inline(never)]
    fn read_options(&mut self, header: u8, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        if header & Self::FLAG_TIMESTAMP != 0 {
            self.timestamp = Some(Timestamp::read(reader)?);
        }
        if header & FLAG_ENCODING != 0 {
            self.encoding = Encoding::read(reader)?;
        }
        // Extensions; the unknown ones are kept to be forwarded.
        let chain = *reader;
        let mut more = header;
        let (mut any_unknown, mut is_shared) = (false, false);
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_SOURCE_INFO => {
                    self.source_info = Some(reader.whole_section_z32(SourceInfo::read)?);
                }
                KEY_ATTACHMENT => self.attachment = Some(reader.bytes_z32()?),
                shared::KEY => is_shared = true,
                _ => {
                    extension::skip(more, reader)?;
                    any_unknown = true;
                }
            }
        }
        // A shared payload has another form.
        if is_shared {
            return Err(shared::read_over(reader));
        }
        if any_unknown {
            self.unknown = RawExtensions::unknown_of(reader.since(chain), KNOWN);
        }
        Ok(())
    }

    /// Writes everything up to and including the length of a payload of `payload_len` bytes, which
    /// the caller appends. `self.payload` is ignored.
    ///
    /// # Errors
    /// [`EncodeError`] if that head does not fit or the length exceeds 32 bits; the position is then unchanged.
    #[inline(always)]
    pub fn encode_head(
        &self,
        payload_len: usize,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        if u32::try_from(payload_len).is_err() {
            return Err(EncodeError::TooLong);
        }
        writer.all_or_nothing(|writer| {
            if self.is_plain() {
                writer.u8(id::PUT)?;
            } else {
                self.write_options(writer)?;
            }
            writer.vle(payload_len as u64)
        })
    }

    /// Returns true if no field stands between header and payload.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.timestamp.is_none()
            && self.encoding.is_default()
            && self.source_info.is_none()
            && self.attachment.is_none()
            && self.unknown.is_empty()
    }

    /// Writes the whole of a PUT that [is plain](Self::is_plain).
    #[inline(always)]
    pub(crate) fn write_plain(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        if u32::try_from(self.payload.len()).is_err() {
            return Err(EncodeError::TooLong);
        }
        writer.u8(id::PUT)?;
        writer.vle(self.payload.len() as u64)?;
        writer.bytes(self.payload)
    }

    /// Writes the header and the fields between it and the payload.
    #[inline(never)]
    fn write_options(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let mut header = id::PUT;
        if self.timestamp.is_some() {
            header |= Self::FLAG_TIMESTAMP;
        }
        if !self.encoding.is_default() {
            header |= FLAG_ENCODING;
        }
        let mut chain = Chain::after(writer.position());
        writer.u8(header)?;
        if let Some(timestamp) = &self.timestamp {
            timestamp.write(writer)?;
        }
        if !self.encoding.is_default() {
            self.encoding.write(writer)?;
        }
        write_source_info(&self.source_info, &mut chain, writer)?;
        if let Some(attachment) = self.attachment {
            chain.bytes(writer, KEY_ATTACHMENT, attachment)?;
        }
        chain.raw(writer, &self.unknown)
    }
}

impl Encode for Put<'_> {
    #[inline(always)]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.encode_head(self.payload.len(), writer)?;
            writer.bytes(self.payload)
        })
    }
}

/// Adds a timestamp to a PUT in wire form without decoding it: writes its header with the timestamp
/// behind it and returns the rest of `raw`, which is still to be appended.
///
/// `raw` is to be a PUT without timestamp; other bytes are returned whole and nothing is written.
///
/// # Errors
/// [`EncodeError`] if header and timestamp do not fit; the position is then unchanged.
#[inline]
pub(crate) fn splice_timestamp<'a>(
    raw: &'a [u8],
    timestamp: &Timestamp,
    writer: &mut Writer<'_>,
) -> Result<&'a [u8], EncodeError> {
    match raw.split_first() {
        Some((&header, rest)) if header & (id::MASK | Put::FLAG_TIMESTAMP) == id::PUT => {
            writer.all_or_nothing(|writer| {
                writer.u8(header | Put::FLAG_TIMESTAMP)?;
                timestamp.write(writer)
            })?;
            Ok(rest)
        }
        _ => Ok(raw),
    }
}
