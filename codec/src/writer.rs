// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing messages into the caller's fixed buffer, all or nothing.

/// Error of a message that was not written. The writer is as it was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The buffer is too small; a larger one may be large enough.
    #[error("no room left in the buffer")]
    NoRoom,
    /// A field is longer than the protocol allows: the message has no wire form, in a buffer of any
    /// size.
    #[error("a field is longer than the protocol allows")]
    TooLong,
}

/// A message, or a part of one, that has a form on the wire.
pub trait Encode {
    /// Writes the wire form at the writer's position.
    ///
    /// # Errors
    /// [`EncodeError`] if it does not fit or has no wire form; the writer's position is then unchanged.
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError>;

    /// Returns the wire form in a vector of its own: for tests, cookies and messages larger than a
    /// batch.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`] if the message has no wire form.
    fn to_vec(&self) -> Result<Vec<u8>, EncodeError> {
        let mut bytes = vec![0; 256];
        loop {
            let mut writer = Writer::new(&mut bytes);
            match self.encode(&mut writer) {
                Ok(()) => {
                    let length = writer.position();
                    bytes.truncate(length);
                    return Ok(bytes);
                }
                Err(EncodeError::NoRoom) => bytes.resize(bytes.len() * 2, 0),
                Err(EncodeError::TooLong) => return Err(EncodeError::TooLong),
            }
        }
    }
}

impl<E: Encode + ?Sized> Encode for &E {
    #[inline(always)]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        (**self).encode(writer)
    }
}

/// Writes primitives into a byte slice, front to back.
///
/// A primitive that does not fit leaves the position unchanged.
#[derive(Debug)]
pub struct Writer<'b> {
    buffer: &'b mut [u8],
    position: usize,
}

impl<'b> Writer<'b> {
    /// Creates a writer at the start of `buffer`.
    #[inline]
    pub fn new(buffer: &'b mut [u8]) -> Self {
        Writer {
            buffer,
            position: 0,
        }
    }

    /// Bytes written so far.
    #[inline]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes that still fit.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.buffer.len() - self.position
    }

    /// Returns the bytes that were written so far.
    #[inline]
    pub fn written(&self) -> &[u8] {
        self.buffer.get(..self.position).unwrap_or_default()
    }

    /// Returns to an earlier position; later ones are ignored.
    #[inline]
    pub fn rewind(&mut self, position: usize) {
        self.position = self.position.min(position);
    }

    /// Runs `write`; if it runs out of room, the position stays unchanged.
    ///
    /// `write` gets its own writer over the same buffer, which the compiler can keep in registers.
    ///
    /// # Errors
    /// The [`EncodeError`] of `write`.
    #[inline(always)]
    pub fn all_or_nothing(
        &mut self,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let mut attempt = Writer {
            buffer: &mut *self.buffer,
            position: self.position,
        };
        write(&mut attempt)?;
        self.position = attempt.position;
        Ok(())
    }

    /// Writes one byte.
    #[inline(always)]
    pub fn u8(&mut self, value: u8) -> Result<(), EncodeError> {
        let slot = self
            .buffer
            .get_mut(self.position)
            .ok_or(EncodeError::NoRoom)?;
        *slot = value;
        self.position += 1;
        Ok(())
    }

    /// Writes two bytes, low one first.
    #[inline]
    pub fn u16_le(&mut self, value: u16) -> Result<(), EncodeError> {
        self.bytes(&value.to_le_bytes())
    }

    /// Writes the bytes as they are.
    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let room = self
            .buffer
            .get_mut(self.position..)
            .ok_or(EncodeError::NoRoom)?;
        let room = room.get_mut(..bytes.len()).ok_or(EncodeError::NoRoom)?;
        copy_short(room, bytes);
        self.position += bytes.len();
        Ok(())
    }

    /// Writes the first `len` bytes of a short block. Where the room allows it the whole block is
    /// copied, which takes no branch and no call.
    #[inline(always)]
    pub(crate) fn front_of<const N: usize>(
        &mut self,
        block: &[u8; N],
        len: usize,
    ) -> Result<(), EncodeError> {
        let front = block.get(..len).ok_or(EncodeError::NoRoom)?;
        let room = self
            .buffer
            .get_mut(self.position..)
            .and_then(<[u8]>::first_chunk_mut::<N>);
        let Some(room) = room else {
            return self.bytes(front);
        };
        *room = *block;
        self.position += len;
        Ok(())
    }

    /// Writes like [`Writer::front_of`], with `byte` in place of the one at `at`, which is one of
    /// the first `len`.
    #[inline(always)]
    pub(crate) fn front_with<const N: usize>(
        &mut self,
        block: &[u8; N],
        len: usize,
        at: usize,
        byte: u8,
    ) -> Result<(), EncodeError> {
        let place = self.position + at;
        self.front_of(block, len)?;
        if let Some(place) = self.buffer.get_mut(place) {
            *place = byte;
        }
        Ok(())
    }

    /// Writes like [`Writer::front_of`], with `number` in place of the nine bytes of the block from
    /// `at` on.
    ///
    /// # Errors
    /// [`EncodeError::NoRoom`], also if the rest of the block, which is written as well, has no room.
    #[inline(always)]
    pub(crate) fn front_around<const N: usize>(
        &mut self,
        block: &[u8; N],
        len: usize,
        at: usize,
        number: LongNumber,
    ) -> Result<(), EncodeError> {
        let room = self.buffer.get_mut(self.position..);
        let room = room.and_then(<[u8]>::first_chunk_mut::<N>);
        let room = room.ok_or(EncodeError::NoRoom)?;
        *room = *block;
        let place = room.get_mut(at..).and_then(<[u8]>::first_chunk_mut);
        number.write(place.ok_or(EncodeError::NoRoom)?);
        if len > N {
            return Err(EncodeError::NoRoom);
        }
        self.position += len;
        Ok(())
    }

    /// Writes a variable-length number.
    #[inline(always)]
    pub fn vle(&mut self, value: u64) -> Result<(), EncodeError> {
        if value < 0x80 {
            self.u8(value as u8)
        } else if value < 0x4000 {
            self.bytes(&[value as u8 | 0x80, (value >> 7) as u8])
        } else {
            self.position = long_vle(self.buffer, self.position, value)?;
            Ok(())
        }
    }

    /// Writes like [`Writer::vle`], fast for numbers that take all nine bytes, as the time of a
    /// timestamp does.
    ///
    /// # Errors
    /// [`EncodeError::NoRoom`].
    #[inline(always)]
    pub(crate) fn vle_long(&mut self, value: u64) -> Result<(), EncodeError> {
        let Some(number) = LongNumber::new(value) else {
            return self.vle(value);
        };
        let room = self.buffer.get_mut(self.position..);
        let room = room.and_then(<[u8]>::first_chunk_mut);
        number.write(room.ok_or(EncodeError::NoRoom)?);
        self.position += 9;
        Ok(())
    }

    /// Writes a byte string: its length as a variable-length number, then the bytes.
    #[inline]
    pub fn bytes_vle(&mut self, bytes: &[u8]) -> Result<(), EncodeError> {
        let start = self.position;
        self.vle(bytes.len() as u64)?;
        self.bytes(bytes).inspect_err(|_| self.position = start)
    }

    /// Writes a byte string whose length the protocol limits to `max`.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`] above that limit, whatever room there is.
    #[inline(always)]
    pub(crate) fn bytes_vle_at_most(&mut self, bytes: &[u8], max: u64) -> Result<(), EncodeError> {
        if bytes.len() as u64 > max {
            return Err(EncodeError::TooLong);
        }
        self.bytes_vle(bytes)
    }

    /// Sets the top bit of an already written byte: the flag "extensions follow" in every header of
    /// the protocol.
    #[inline]
    pub(crate) fn set_top_bit(&mut self, position: usize) {
        if let Some(header) = self.buffer.get_mut(position) {
            *header |= 0x80;
        }
    }
}

/// A number whose variable-length form takes all nine bytes, and that form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongNumber {
    value: u64,
    /// The first eight bytes.
    groups: u64,
}

impl LongNumber {
    /// Encodes the number; `None` if fewer bytes will do.
    #[inline(always)]
    pub fn new(value: u64) -> Option<Self> {
        let groups = split_groups(value) | CONTINUE;
        (value >> 56 != 0).then_some(LongNumber { value, groups })
    }

    /// Returns the number after this one; the largest stays.
    #[inline(always)]
    #[must_use]
    pub fn next(self) -> Self {
        let value = self.value.saturating_add(1);
        // Within the lowest group nothing is carried over.
        let groups = match self.groups as u8 {
            u8::MAX => split_groups(value) | CONTINUE,
            _ => self.groups + 1,
        };
        LongNumber { value, groups }
    }

    #[inline(always)]
    fn write(self, room: &mut [u8; 9]) {
        let [front @ .., last] = room;
        *front = self.groups.to_le_bytes();
        *last = (self.value >> 56) as u8;
    }
}

/// Returns the length of a number's variable-length form: 1 to 9 bytes.
#[inline]
pub const fn vle_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    let groups = bits.div_ceil(7);
    if groups > 9 { 9 } else { groups }
}

/// Copies short strings inline, where calling the general routine would cost more than the copy: two
/// fixed-size copies that overlap in the middle. Both slices have the same length.
#[inline(always)]
fn copy_short(to: &mut [u8], from: &[u8]) {
    match from.len() {
        8..=16 => copy_ends::<8>(to, from),
        // Asked next, as payloads are either short or much longer.
        33.. => to.copy_from_slice(from),
        4..=7 => copy_ends::<4>(to, from),
        2..=3 => copy_ends::<2>(to, from),
        17..=32 => copy_ends::<16>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first and the last `N` bytes.
#[inline(always)]
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    if let (Some(head), Some(tail)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        let (head, tail) = (*head, *tail);
        if let Some(to) = to.first_chunk_mut::<N>() {
            *to = head;
        }
        if let Some(to) = to.last_chunk_mut::<N>() {
            *to = tail;
        }
    }
}

/// Writes a number of two or more groups at `position`, and returns the position behind it.
#[inline(never)]
fn long_vle(buffer: &mut [u8], position: usize, value: u64) -> Result<usize, EncodeError> {
    let length = vle_len(value);
    let end = position + length;
    let spread = split_groups(value) | continue_bits(length);
    let mut encoded = [0; 9];
    encoded[..8].copy_from_slice(&spread.to_le_bytes());
    encoded[8] = (value >> 56) as u8;
    let room = buffer.get_mut(position..).ok_or(EncodeError::NoRoom)?;
    if let Some(room) = room.first_chunk_mut::<9>() {
        // One fixed-size store; the bytes behind the number are free space.
        *room = encoded;
        return Ok(end);
    }
    let room = room.get_mut(..length).ok_or(EncodeError::NoRoom)?;
    room.copy_from_slice(&encoded[..length]);
    Ok(end)
}

/// Returns the low 56 bits in groups of seven, one per byte.
#[inline]
fn split_groups(value: u64) -> u64 {
    let halves = (value & 0x0fff_ffff) | ((value & 0x00ff_ffff_f000_0000) << 4);
    let quads = (halves & 0x0000_3fff_0000_3fff) | ((halves & 0x0fff_c000_0fff_c000) << 2);
    (quads & 0x007f_007f_007f_007f) | ((quads & 0x3f80_3f80_3f80_3f80) << 1)
}

/// The flag "more follows", in each byte.
const CONTINUE: u64 = 0x8080_8080_8080_8080;

/// Returns the "more" bit in every byte but the last of a number of `length` (2 to 9) bytes.
#[inline]
fn continue_bits(length: usize) -> u64 {
    CONTINUE >> (8 * (9 - length.clamp(2, 9)))
}

#[cfg(test)]
mod tests;
