// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extension chains, by which messages grow without breaking older readers.
//!
//! ```text
//!    7     6 5    4     3 2 1 0
//! +------+-----+------+---------+
//! | more | enc | mand |   id    |   enc: 0 no body, 1 a vle, 2 bytes with a z32 length, 3 reserved
//! +------+-----+------+---------+
//! ```
//! The *key* of an extension is its header without "more". An unknown extension is skipped, unless it is
//! mandatory: then the message cannot be understood. A repeated extension replaces the earlier one.

use core::fmt;

use crate::{
    error::DecodeError,
    reader::Reader,
    writer::{EncodeError, Writer},
};

/// Flag: another extension follows; in a message header: the first one follows.
pub(crate) const MORE: u8 = 0x80;
pub(crate) const MANDATORY: u8 = 0x10;
const ENCODING: u8 = 0x60;
const ENCODING_NUMBER: u8 = 0x20;
const ENCODING_BYTES: u8 = 0x40;

/// The content of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionBody<'a> {
    /// No content: the presence is the message.
    Unit,
    /// A number.
    Number(u64),
    /// Bytes.
    Bytes(&'a [u8]),
}

/// One extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension<'a> {
    /// The header without its "more" bit.
    pub key: u8,
    /// The content.
    pub body: ExtensionBody<'a>,
}

impl Extension<'_> {
    /// Returns the id in the low four bits of the key.
    pub const fn id(&self) -> u8 {
        self.key & 0x0f
    }
}

#[inline]
fn read_body<'a>(key: u8, reader: &mut Reader<'a>) -> Result<ExtensionBody<'a>, DecodeError> {
    match key & ENCODING {
        0 => Ok(ExtensionBody::Unit),
        ENCODING_NUMBER => Ok(ExtensionBody::Number(reader.z64()?)),
        ENCODING_BYTES => Ok(ExtensionBody::Bytes(reader.bytes_z32()?)),
        _ => Err(DecodeError::ReservedEncoding {
            offset: reader.position(),
        }),
    }
}

/// Skips the body of an extension that the message does not know; refuses a mandatory one.
#[inline(never)]
pub(crate) fn skip(header: u8, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    let key = header & !MORE;
    if key & MANDATORY != 0 {
        return Err(DecodeError::MandatoryExtension {
            key,
            offset: reader.position(),
        });
    }
    read_body(key, reader).map(drop)
}

/// Skips a chain without any known extension. Does nothing if `header`, the message's, announces
/// none.
#[inline]
pub(crate) fn skip_chain(header: u8, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    let mut more = header;
    while more & MORE != 0 {
        more = reader.u8()?;
        skip(more, reader)?;
    }
    Ok(())
}

/// Skips a chain, mandatory extensions as well, as the scouting messages do.
pub(crate) fn ignore_chain(header: u8, reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    let mut more = header;
    while more & MORE != 0 {
        more = reader.u8()?;
        read_body(more & !MORE, reader)?;
    }
    Ok(())
}

/// Writer of a chain. Each extension sets the top bit of the header before it: the message's first,
/// then the previous extension's, so the caller need not know in advance whether more follow.
pub(crate) struct Chain {
    previous: usize,
}

impl Chain {
    /// Creates a chain behind the message header written at `header`.
    #[inline(always)]
    pub(crate) fn after(header: usize) -> Self {
        Chain { previous: header }
    }

    #[inline(always)]
    fn header(&mut self, writer: &mut Writer<'_>, key: u8) -> Result<(), EncodeError> {
        let position = writer.position();
        writer.u8(key)?;
        writer.set_top_bit(self.previous);
        self.previous = position;
        Ok(())
    }

    /// Writes an extension without body.
    #[inline]
    pub(crate) fn unit(&mut self, writer: &mut Writer<'_>, key: u8) -> Result<(), EncodeError> {
        self.header(writer, key)
    }

    /// Writes an extension with a number.
    #[inline(always)]
    pub(crate) fn number(
        &mut self,
        writer: &mut Writer<'_>,
        key: u8,
        value: u64,
    ) -> Result<(), EncodeError> {
        self.header(writer, key)?;
        writer.vle(value)
    }

    /// Writes an extension with bytes.
    #[inline]
    pub(crate) fn bytes(
        &mut self,
        writer: &mut Writer<'_>,
        key: u8,
        bytes: &[u8],
    ) -> Result<(), EncodeError> {
        self.header(writer, key)?;
        writer.bytes_vle_at_most(bytes, u64::from(u32::MAX))
    }

    /// Writes the header and length of an extension whose `length` bytes the caller writes next.
    #[inline]
    pub(crate) fn section(
        &mut self,
        writer: &mut Writer<'_>,
        key: u8,
        length: usize,
    ) -> Result<(), EncodeError> {
        if u32::try_from(length).is_err() {
            return Err(EncodeError::TooLong);
        }
        self.header(writer, key)?;
        writer.vle(length as u64)
    }

    /// A chain of a received message.
    #[inline(always)]
    pub(crate) fn raw(
        &mut self,
        writer: &mut Writer<'_>,
        unknown: &RawExtensions<'_>,
    ) -> Result<(), EncodeError> {
        if unknown.chain.is_empty() {
            return Ok(());
        }
        self.raw_any(writer, unknown)
    }

    #[inline(never)]
    fn raw_any(
        &mut self,
        writer: &mut Writer<'_>,
        unknown: &RawExtensions<'_>,
    ) -> Result<(), EncodeError> {
        for extension in unknown.iter() {
            match extension.body {
                ExtensionBody::Unit => self.unit(writer, extension.key)?,
                ExtensionBody::Number(value) => self.number(writer, extension.key, value)?,
                ExtensionBody::Bytes(bytes) => self.bytes(writer, extension.key, bytes)?,
            }
        }
        Ok(())
    }
}

/// The unknown extensions of a body, kept to be forwarded: a view of the received chain that leaves
/// out the known ones.
#[derive(Clone, Copy, Default)]
pub struct RawExtensions<'a> {
    chain: &'a [u8],
    known: &'static [u8],
}

impl<'a> RawExtensions<'a> {
    /// A chain without extensions.
    pub const NONE: RawExtensions<'static> = RawExtensions {
        chain: &[],
        known: &[],
    };

    /// Takes the extensions of `chain` whose keys are not in `known`; the chain was read to its end.
    #[inline]
    pub(crate) fn unknown_of(chain: &'a [u8], known: &'static [u8]) -> Self {
        RawExtensions { chain, known }
    }

    /// Takes all extensions of a chain in wire form: each header but the last with its "more" bit
    /// set.
    ///
    /// # Errors
    /// If the bytes are not exactly one chain.
    pub fn from_chain(chain: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(chain);
        if !chain.is_empty() {
            ignore_chain(MORE, &mut reader)?;
        }
        if !reader.is_empty() {
            return Err(reader.invalid("bytes behind a chain", reader.remaining() as u64));
        }
        Ok(RawExtensions { chain, known: &[] })
    }

    /// Returns true if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.chain.is_empty() || self.iter().next().is_none()
    }

    /// Returns the extensions in the order received.
    pub fn iter(&self) -> impl Iterator<Item = Extension<'a>> + use<'a> {
        let known = self.known;
        let mut reader = Reader::new(self.chain);
        core::iter::from_fn(move || {
            let key = reader.u8().ok()? & !MORE;
            let body = read_body(key, &mut reader).ok()?;
            Some(Extension { key, body })
        })
        .filter(move |extension| !known.contains(&extension.key))
    }
}

impl PartialEq for RawExtensions<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for RawExtensions<'_> {}

impl fmt::Debug for RawExtensions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_checked() {
        let chain = [0x89, 0xaa, 0xe8, 0x07, 0x4b, 0x02, 0x7a, 0x7a];
        let raw = RawExtensions::from_chain(&chain).expect("a chain");
        let ids: Vec<u8> = raw.iter().map(|extension| extension.id()).collect();
        assert_eq!(ids, [9, 10, 11]);
        assert_eq!(RawExtensions::from_chain(&[]), Ok(RawExtensions::NONE));
        for cut in 1..chain.len() {
            assert!(
                RawExtensions::from_chain(&chain[..cut]).is_err(),
                "cut to {cut}"
            );
        }
        assert!(RawExtensions::from_chain(&[0x01, 0x00]).is_err());
        assert!(RawExtensions::from_chain(&[0x61]).is_err());
    }

    #[test]
    fn views_leave_out_what_is_known() {
        let chain = [0x89, 0xa1, 0x05, 0x0a];
        let raw = RawExtensions::unknown_of(&chain, &[0x21]);
        assert_eq!(
            raw.iter()
                .map(|extension| extension.key)
                .collect::<Vec<_>>(),
            [0x09, 0x0a]
        );
        let mut buffer = [0; 8];
        let mut writer = Writer::new(&mut buffer);
        writer.u8(0x01).expect("room");
        Chain::after(0).raw(&mut writer, &raw).expect("room");
        assert_eq!(writer.written(), &[0x81, 0x89, 0x0a]);
        assert!(RawExtensions::unknown_of(&[0x21, 0x05], &[0x21]).is_empty());
    }
}
