// SPDX-License-Identifier: MIT OR Apache-2.0
//! A bounds-checked cursor over received bytes: the only code that indexes input.
//!
//! Two pointers wide plus the end offset, `Copy`, and inlined everywhere: a mark is a copy of the reader.
//! Variable-length integers (VLE) are little-endian groups of seven bits, bit 7 meaning "more"; the ninth
//! byte, if reached, carries eight bits. One-byte values take the straight path; longer ones are read a
//! word at a time.

use crate::error::DecodeError;

/// Reads primitives from a byte slice, front to back.
///
/// After an error the reader stands somewhere inside the broken field; copy it first if the position matters.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
    end: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the start of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Reader {
            rest: bytes,
            end: bytes.len(),
        }
    }

    /// Bytes not read yet.
    #[inline]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Returns true if everything was read.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Bytes read so far.
    #[inline]
    pub const fn position(&self) -> usize {
        self.end - self.rest.len()
    }

    /// Returns the next byte, left unread.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Returns the next `N` bytes, not consumed.
    #[inline(always)]
    pub fn front<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.rest.first_chunk()
    }

    /// Returns the bytes read since `mark`, an earlier copy of this reader; empty if it is not one.
    #[inline]
    pub fn since(&self, mark: Reader<'a>) -> &'a [u8] {
        let length = mark.rest.len().saturating_sub(self.rest.len());
        mark.rest.get(..length).unwrap_or_default()
    }

    /// Reads one byte.
    #[inline(always)]
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                Ok(byte)
            }
            None => Err(self.truncated("byte")),
        }
    }

    /// Reads two bytes, low one first.
    #[inline]
    pub fn u16_le(&mut self) -> Result<u16, DecodeError> {
        match self.rest.split_first_chunk::<2>() {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(u16::from_le_bytes(*bytes))
            }
            None => Err(self.truncated("16-bit number")),
        }
    }

    /// Reads the next `count` bytes.
    #[inline(always)]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(count) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(self.truncated("byte string")),
        }
    }

    /// Reads everything that is left.
    #[inline]
    pub fn rest(&mut self) -> &'a [u8] {
        let (bytes, rest) = self.rest.split_at(self.rest.len());
        self.rest = rest;
        bytes
    }

    /// Reads a VLE number of up to 64 bits.
    #[inline(always)]
    pub fn z64(&mut self) -> Result<u64, DecodeError> {
        match self.rest.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(byte))
            }
            _ => match long_vle(self.rest) {
                Some((value, rest)) => {
                    self.rest = rest;
                    Ok(value)
                }
                None => Err(self.truncated("variable-length number")),
            },
        }
    }

    /// Reads a VLE number in its longest form, nine bytes; nothing is read if it has another.
    #[inline(always)]
    pub(crate) fn z64_full(&mut self) -> Option<u64> {
        let (word, rest) = self.rest.split_first_chunk()?;
        let word = u64::from_le_bytes(*word);
        if word & CONTINUE != CONTINUE {
            return None;
        }
        let (&last, rest) = rest.split_first()?;
        self.rest = rest;
        Some(join_groups(word) | u64::from(last) << 56)
    }

    /// Reads a VLE number that must fit 32 bits.
    #[inline(always)]
    pub fn z32(&mut self) -> Result<u32, DecodeError> {
        let value = self.z64()?;
        u32::try_from(value).map_err(|_| self.too_large(value, u64::from(u32::MAX)))
    }

    /// Reads a VLE number that must fit 16 bits.
    #[inline(always)]
    pub fn z16(&mut self) -> Result<u16, DecodeError> {
        let value = self.z64()?;
        u16::try_from(value).map_err(|_| self.too_large(value, u64::from(u16::MAX)))
    }

    /// Reads a VLE number that must fit 8 bits.
    #[inline]
    pub fn z8(&mut self) -> Result<u8, DecodeError> {
        let value = self.z64()?;
        u8::try_from(value).map_err(|_| self.too_large(value, u64::from(u8::MAX)))
    }

    /// Reads the low 32 bits of a VLE number.
    #[inline]
    pub fn v32(&mut self) -> Result<u32, DecodeError> {
        Ok(self.z64()? as u32)
    }

    /// Reads the low 16 bits of a VLE number.
    #[inline]
    pub fn v16(&mut self) -> Result<u16, DecodeError> {
        Ok(self.z64()? as u16)
    }

    /// Reads a byte string whose length is a VLE of up to 64 bits.
    #[inline]
    pub fn bytes_z64(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.z64()?;
        // A length beyond the address space is beyond the input as well.
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Reads a byte string whose length must fit 32 bits.
    #[inline(always)]
    pub fn bytes_z32(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.z32()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// Reads a byte string whose length must fit 16 bits.
    #[inline]
    pub fn bytes_z16(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.z16()?;
        self.take(usize::from(length))
    }

    /// Reads a byte string whose length must fit 8 bits.
    #[inline]
    pub fn bytes_z8(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.z8()?;
        self.take(usize::from(length))
    }

    /// Reads a UTF-8 text with a length of up to 64 bits.
    #[inline]
    pub fn str_z64(&mut self) -> Result<&'a str, DecodeError> {
        let bytes = self.bytes_z64()?;
        self.text(bytes)
    }

    /// Reads a UTF-8 text whose length must fit 16 bits.
    #[inline]
    pub fn str_z16(&mut self) -> Result<&'a str, DecodeError> {
        let bytes = self.bytes_z16()?;
        self.text(bytes)
    }

    /// Reads a UTF-8 text whose length must fit 8 bits.
    #[inline]
    pub fn str_z8(&mut self) -> Result<&'a str, DecodeError> {
        let bytes = self.bytes_z8()?;
        self.text(bytes)
    }

    /// Reads everything that is left, as UTF-8 text.
    #[inline]
    pub fn str_rest(&mut self) -> Result<&'a str, DecodeError> {
        let bytes = self.rest();
        self.text(bytes)
    }

    /// Returns a reader of the next byte string (length within 32 bits) alone, whose positions
    /// continue this one's.
    #[inline]
    pub fn section_z32(&mut self) -> Result<Reader<'a>, DecodeError> {
        let bytes = self.bytes_z32()?;
        Ok(Reader {
            rest: bytes,
            end: self.position(),
        })
    }

    /// Reads the next byte string (length within 32 bits) as a whole: bytes behind those that
    /// `read` takes are refused. The reference reads such a field without a look at the length in
    /// front of it, and would take everything behind a shorter field for something else.
    #[inline]
    pub(crate) fn whole_section_z32<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut section = self.section_z32()?;
        let field = read(&mut section)?;
        match section.is_empty() {
            true => Ok(field),
            false => Err(section.invalid("surplus in an extension", section.remaining() as u64)),
        }
    }

    #[inline]
    fn text(&self, bytes: &'a [u8]) -> Result<&'a str, DecodeError> {
        core::str::from_utf8(bytes).map_err(|_| DecodeError::NotUtf8 {
            offset: self.position(),
        })
    }

    #[cold]
    fn truncated(self, reading: &'static str) -> DecodeError {
        DecodeError::Truncated {
            reading,
            offset: self.position(),
        }
    }

    #[cold]
    fn too_large(self, value: u64, max: u64) -> DecodeError {
        DecodeError::TooLarge {
            reading: "number",
            value,
            max,
            offset: self.position(),
        }
    }

    /// Creates the error of a value without meaning in `field`, found just before the current
    /// position.
    #[cold]
    pub(crate) fn invalid(self, field: &'static str, value: u64) -> DecodeError {
        DecodeError::Invalid {
            field,
            value,
            offset: self.position(),
        }
    }

    /// Creates the error of an id that names no `kind`, found just before the current position.
    #[cold]
    pub(crate) fn unknown_id(self, kind: &'static str, id: u8) -> DecodeError {
        DecodeError::UnknownId {
            kind,
            id,
            offset: self.position(),
        }
    }
}

const CONTINUE: u64 = 0x8080_8080_8080_8080;

/// Reads a VLE of any length at the start of `input`, and returns also the bytes that follow it.
#[inline(never)]
fn long_vle(input: &[u8]) -> Option<(u64, &[u8])> {
    let Some((word, rest)) = input.split_first_chunk::<8>() else {
        return short_input_vle(input);
    };
    let word = u64::from_le_bytes(*word);
    let stops = !word & CONTINUE;
    if stops == 0 {
        let (&last, rest) = rest.split_first()?;
        return Some((join_groups(word) | u64::from(last) << 56, rest));
    }
    // The first clear "more" bit ends the number; the bits above it belong to the next field.
    let stop = stops.trailing_zeros();
    let value = join_groups(word & (u64::MAX >> (63 - stop)));
    let rest = input.get(stop as usize / 8 + 1..)?;
    Some((value, rest))
}

/// Joins the low seven bits of each of the eight bytes into 56 bits.
#[inline]
fn join_groups(word: u64) -> u64 {
    let pairs = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let quads = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
    (quads & 0x0fff_ffff) | ((quads & 0x0fff_ffff_0000_0000) >> 4)
}

/// Reads a variable-length number from an input of fewer than eight bytes.
fn short_input_vle(input: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (index, &byte) in input.iter().enumerate().take(8) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some((value, input.get(index + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests;
