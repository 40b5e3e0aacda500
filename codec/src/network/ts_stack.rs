// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time-stamp stack: a debugging aid that collects the times at which a message passes nodes.
//!
//! ```text
//! u8 conf (bit 0 send, 1 route, 2 receive; not 0) | vle n (up to 255) | n x (u8 flags, vle length, time)
//! ```
//! The flags of a record are its point and, in bit 7, the kind of its time: a timestamp in wire
//! form, or bytes of the application.

use crate::{
    error::DecodeError,
    extension::Chain,
    reader::Reader,
    writer::{EncodeError, Writer, vle_len},
};

/// A checked view of the extension. Messages are forwarded with the stack as it came, or with a
/// [`TsStackBuf`] that has one more record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TsStack<'a> {
    raw: &'a [u8],
}

impl<'a> TsStack<'a> {
    pub(crate) const KEY: u8 = 0x47;

    /// Point of a message that leaves the application that sends it.
    pub const SEND: u8 = 1;
    /// Point of a message that passes the routing of a node.
    pub const ROUTE: u8 = 1 << 1;
    /// Point of a message that reaches the application that it is for.
    pub const RECEIVE: u8 = 1 << 2;
    /// Flag of a record whose time is bytes of the application, and no timestamp.
    pub const CUSTOM: u8 = 1 << 7;

    /// Maximum number of records; a reader refuses more.
    pub const RECORDS_MAX: usize = 255;

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
        if count > Self::RECORDS_MAX as u64 {
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

    /// Returns true if times are collected at this point.
    pub fn collects(&self, point: u8) -> bool {
        self.conf() & point != 0
    }

    /// Returns the collected entries: flags (bits 0-2 the point, bit 7 custom) and the bytes of the
    /// time.
    pub fn entries(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let (count, mut reader) = self.parts();
        (0..count).map_while(move |_| Some((reader.u8().ok()?, reader.bytes_z64().ok()?)))
    }

    /// Returns the number of records, and a reader of the bytes behind it.
    fn parts(&self) -> (usize, Reader<'a>) {
        let mut reader = Reader::new(self.raw);
        let count = reader.u8().and_then(|_| reader.z64()).unwrap_or(0);
        (usize::try_from(count).unwrap_or(0), reader)
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

/// A stack that grows by a record at each point.
///
/// ```
/// use zonda_codec::{TsStack, TsStackBuf};
///
/// let mut stack = TsStackBuf::new(TsStack::SEND | TsStack::ROUTE).unwrap();
/// assert!(stack.push(TsStack::SEND | TsStack::CUSTOM, b"noon"));
/// assert_eq!(stack.view().entries().next(), Some((0x81, &b"noon"[..])));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TsStackBuf {
    /// The wire form.
    raw: Vec<u8>,
}

/// Bytes reserved for a further record: flags, length, and the longest timestamp.
const RECORD_BYTES: usize = 32;

impl TsStackBuf {
    /// Maximum bytes of a stack with a further record. A stack that came longer stays as it is.
    pub const BYTES_MAX: usize = 64 * 1024;

    /// Creates an empty stack for the times at these points; `None` if there is no point.
    pub fn new(conf: u8) -> Option<Self> {
        (conf != 0).then(|| TsStackBuf { raw: vec![conf, 0] })
    }

    /// Copies a stack, with room for a further record.
    pub fn of(stack: TsStack<'_>) -> Self {
        let mut raw = Vec::with_capacity(stack.raw.len() + RECORD_BYTES);
        raw.extend_from_slice(stack.raw);
        TsStackBuf { raw }
    }

    /// Returns the stack as messages contain it.
    pub fn view(&self) -> TsStack<'_> {
        TsStack { raw: &self.raw }
    }

    /// Returns the bytes of memory that it holds.
    pub fn bytes(&self) -> usize {
        self.raw.capacity()
    }

    /// Appends a record, and returns true. A stack with [`TsStack::RECORDS_MAX`] records, or one
    /// that would exceed [`TsStackBuf::BYTES_MAX`], stays as it is.
    pub fn push(&mut self, flags: u8, time: &[u8]) -> bool {
        let len = 1 + vle_len(time.len() as u64) + time.len();
        let (count, records) = self.view().parts();
        if count >= TsStack::RECORDS_MAX || self.raw.len() + len + 1 > Self::BYTES_MAX {
            return false;
        }
        // the number may have been written longer than it needs to be
        let front = self.raw.len() - records.remaining();
        let number = count as u64 + 1;
        let end = 1 + vle_len(number) + records.remaining();
        self.raw
            .splice(1..front, std::iter::repeat_n(0, vle_len(number)));
        self.raw.resize(end + len, 0);
        let written = Writer::new(&mut self.raw[1..]).vle(number);
        let mut record = Writer::new(&mut self.raw[end..]);
        let written = written.and_then(|()| record.u8(flags));
        let written = written.and_then(|()| record.bytes_vle(time));
        debug_assert!(written.is_ok(), "the bytes of the record are there");
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_grows_to_its_limit_and_is_then_left_as_it_is() {
        let mut stack = TsStackBuf::new(0b111).expect("a stack");
        for number in 0..TsStack::RECORDS_MAX {
            assert!(stack.push(TsStack::ROUTE, &number.to_le_bytes()));
            let view = TsStack::new(stack.view().raw).expect("a checked stack");
            assert_eq!(view, stack.view());
            assert_eq!(view.entries().count(), number + 1);
        }
        let full = stack.clone();
        assert!(!stack.push(TsStack::ROUTE, b"one too many"));
        assert_eq!(stack, full);
    }

    #[test]
    fn a_stack_grows_to_a_bounded_size() {
        let mut stack = TsStackBuf::new(1).expect("a stack");
        let time = [7; 1000];
        let records = (0..TsStack::RECORDS_MAX).filter(|_| stack.push(1, &time));
        assert_eq!(records.count(), TsStackBuf::BYTES_MAX / 1003);
        assert!(stack.view().raw.len() <= TsStackBuf::BYTES_MAX);
        assert!(stack.push(1, b"a short one"));
    }

    #[test]
    fn a_number_in_a_longer_spelling_is_replaced() {
        let raw = [1, 0x81, 0x80, 0x00, 0x82, 1, 9];
        let mut stack = TsStackBuf::of(TsStack::new(&raw).expect("a stack"));
        assert!(stack.push(4, &[5]));
        assert_eq!(stack.view().raw, [1, 2, 0x82, 1, 9, 4, 1, 5]);
    }

    #[test]
    fn a_stack_without_points_does_not_exist() {
        assert_eq!(TsStackBuf::new(0), None);
        assert!(TsStack::new(&[0, 0]).is_err());
    }
}
