// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heads that are written once and copied from then on.

use crate::{
    body::Put,
    network::PushHead,
    writer::{Encode, EncodeError, Writer},
};

/// A head of at most `N` bytes, written already: it is copied as one block, without a look at its length.
#[derive(Debug, Clone, Copy)]
pub struct HeadBlock<const N: usize> {
    pub(super) bytes: [u8; N],
    pub(super) len: usize,
}

/// Room for a key id, a treatment, an encoding and a length, and the headers around them: fifteen bytes at most.
pub type ShortHead = HeadBlock<16>;

impl<const N: usize> HeadBlock<N> {
    /// The most it holds.
    pub const BYTES_MAX: usize = N;

    /// What `write` writes; `None` if that is too long.
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

/// The head of PUTs that differ in their payloads only. The payload's length is the last that it says.
#[derive(Debug, Clone, Copy)]
pub struct PreparedHead {
    /// Up to the payload's length.
    front: ShortHead,
    /// With the length that was asked for last.
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

    /// What stands in front of a payload of that length.
    #[inline(always)]
    pub fn whole(&self) -> &ShortHead {
        &self.whole
    }
}
