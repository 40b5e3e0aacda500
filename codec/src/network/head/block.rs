// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heads that are written once and copied from then on.

use crate::{
    body::{PushBody, Put},
    id::{EntityGlobalId, SourceInfo},
    network::PushHead,
    writer::{Encode, EncodeError, Writer, vle_len},
};

/// A head of at most `N` bytes, written already: it is copied as one block, without a look at its
/// length.
#[derive(Debug, Clone, Copy)]
pub struct HeadBlock<const N: usize> {
    pub(super) bytes: [u8; N],
    pub(super) len: usize,
}

/// Room for a key id, a quality of service, an encoding and a length, and the headers around them:
/// fifteen bytes at most.
pub type ShortHead = HeadBlock<16>;

impl<const N: usize> HeadBlock<N> {
    /// Capacity in bytes.
    pub const BYTES_MAX: usize = N;

    /// Creates a block of the bytes that `write` writes; `None` if they are too long.
    pub fn new(write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>) -> Option<Self> {
        let mut bytes = [0; N];
        let mut writer = Writer::new(&mut bytes);
        write(&mut writer).ok()?;
        let len = writer.position();
        Some(HeadBlock { bytes, len })
    }
}

impl<const N: usize> Encode for HeadBlock<N> {
    #[inline(always)]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.front_of(&self.bytes, self.len)
    }
}

/// The head of PUTs that differ in their payloads only. The payload's length is its last field.
#[derive(Debug, Clone, Copy)]
pub struct PreparedHead {
    /// The bytes up to the payload's length.
    front: ShortHead,
    /// The bytes with the last completed length.
    whole: ShortHead,
}

impl PreparedHead {
    pub(super) fn new(head: &PushHead<'_>, put: &Put<'_>) -> Option<PreparedHead> {
        let whole = ShortHead::new(|writer| {
            head.write(writer)?;
            put.encode_head(0, writer)
        })?;
        // The last byte is the length of the empty payload.
        let len = whole.len.checked_sub(1)?;
        let front = ShortHead { len, ..whole };
        Some(PreparedHead { front, whole })
    }

    /// Writes another length. `None` if it takes too much room.
    pub fn complete(&mut self, payload_len: usize) -> Option<()> {
        self.whole = ShortHead::new(|writer| {
            self.front.encode(writer)?;
            writer.vle(payload_len as u64)
        })?;
        Some(())
    }

    /// Returns the bytes in front of a payload of the last completed length.
    #[inline(always)]
    pub fn whole(&self) -> &ShortHead {
        &self.whole
    }
}

/// Room for a [`ShortHead`] and the source info: an id, an entity and a number, 29 bytes at most.
type SourceBlock = HeadBlock<48>;

/// The head of PUTs of one source that differ in their payloads and numbers only. The payload's length, and all of the number but
/// its lowest seven bits, are the last that [`complete`](Self::complete) got.
#[derive(Debug, Clone, Copy)]
pub struct NumberedHead {
    /// The bytes up to the number.
    front: SourceBlock,
    /// Offset of the length of the source info.
    length_at: usize,
    /// Bytes of the source info in front of the number.
    source_len: usize,
    whole: SourceBlock,
    /// The highest bit of the number's first byte, which is set if other bytes follow.
    more: u8,
}

impl NumberedHead {
    /// The count of the lowest bits of a number that each message brings.
    pub const NUMBER_BITS: u32 = 7;

    pub(super) fn new(
        head: PushHead<'_>,
        put: &Put<'_>,
        source: &EntityGlobalId,
    ) -> Option<NumberedHead> {
        if put.attachment.is_some() || !put.unknown.is_empty() {
            return None;
        }
        let (id, sn) = (*source, 0);
        let body = PushBody::Put(Put {
            source_info: Some(SourceInfo { id, sn }),
            ..*put
        });
        let whole = SourceBlock::new(|writer| head.of(&body, 0).encode(writer))?;
        let source_len = source.len();
        // The last bytes are the number and the length of the empty payload.
        let len = whole.len.checked_sub(2)?;
        Some(NumberedHead {
            front: SourceBlock { len, ..whole },
            length_at: len.checked_sub(source_len + 1)?,
            source_len,
            whole,
            more: 0,
        })
    }

    /// Writes another length and another number. `None` if they take too much room.
    pub fn complete(&mut self, payload_len: usize, number: u32) -> Option<()> {
        let number_len = vle_len(u64::from(number));
        let mut whole = SourceBlock::new(|writer| {
            self.front.encode(writer)?;
            writer.vle(u64::from(number))?;
            writer.vle(payload_len as u64)
        })?;
        *whole.bytes.get_mut(self.length_at)? = (self.source_len + number_len) as u8;
        self.more = whole.bytes.get(self.front.len)? & 0x80;
        self.whole = whole;
        Some(())
    }

    /// Returns the bytes in front of a payload of the last completed length, in the message of this
    /// number, of which all but the lowest [`NUMBER_BITS`](Self::NUMBER_BITS) bits are those of the
    /// last completed number.
    #[inline(always)]
    pub fn numbered(&self, number: u32) -> NumberedFront<'_> {
        NumberedFront {
            head: self,
            lowest: self.more | number as u8 & 0x7f,
        }
    }
}

/// A [`NumberedHead`] with a number. The encoder patches the number into the written head: a wide
/// load of a block that overlaps a recent narrow store would stall.
#[derive(Debug, Clone, Copy)]
pub struct NumberedFront<'a> {
    head: &'a NumberedHead,
    /// The first byte of the number, which has its lowest bits.
    lowest: u8,
}

impl Encode for NumberedFront<'_> {
    #[inline(always)]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let NumberedHead { front, whole, .. } = self.head;
        writer.front_with(&whole.bytes, whole.len, front.len, self.lowest)
    }
}
