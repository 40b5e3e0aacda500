// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time-stamp stack: a debugging aid that collects the times at which a message passes nodes.
//!
//! ```text
//! u8 conf (bit 0 send, 1 route, 2 receive; not 0) | vle n (up to 255) | n x (u8 flags, vle length, timestamp)
//! ```

use crate::{
    error::DecodeError,
    extension::Chain,
    reader::Reader,
    writer::{EncodeError, Writer},
};

/// A checked view of the extension. This implementation writes no entries; it forwards the stack as
/// it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TsStack<'a> {
    raw: &'a [u8],
}

impl<'a> TsStack<'a> {
    pub(crate) const KEY: u8 = 0x47;

    /// Checks the extension's body `raw` without the length before it.
    ///
    /// # Errors
    /// If no point is configured, there are more than 255 entries, or the bytes are cut.
    pub fn new(raw: &'a [u8]) -> Result<Self, DecodeError> {
        Self::checked(&mut Reader::new(raw))
    }

    #[inline(never)]
    pub(crate) fn checked(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let section = *reader;
        if reader.u8()? == 0 {
            return Err(reader.invalid("time-stamp stack configuration", 0));
        }
        let count = reader.z64()?;
        if count > 255 {
            return Err(reader.invalid("time-stamp stack length", count));
        }
        for _ in 0..count {
            reader.u8()?;
            reader.bytes_z64()?;
        }
        Ok(TsStack {
            raw: reader.since(section),
        })
    }

    /// Returns the points at which times are collected: bit 0 send, 1 route, 2 receive.
    pub fn conf(&self) -> u8 {
        self.raw.first().copied().unwrap_or_default()
    }

    /// Returns the collected entries: flags (bits 0-2 the point, bit 7 custom) and the bytes of the
    /// time.
    pub fn entries(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let mut reader = Reader::new(self.raw);
        let count = reader.u8().and_then(|_| reader.z64()).unwrap_or(0);
        (0..count).map_while(move |_| Some((reader.u8().ok()?, reader.bytes_z64().ok()?)))
    }

    /// Returns the body in wire form.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.raw
    }

    #[inline(always)]
    pub(crate) fn write_extension(
        stack: &Option<TsStack<'_>>,
        chain: &mut Chain,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        match stack {
            None => Ok(()),
            Some(stack) => chain.bytes(writer, Self::KEY, stack.raw),
        }
    }
}
