// SPDX-License-Identifier: MIT OR Apache-2.0
//! The head of a message as bytes: what a sender of many messages of one kind prepares once.

use zonda_codec::{Encode, EncodeError, Writer};

/// A head, encoded already and short enough to be copied as one block.
#[derive(Debug, Clone, Copy)]
pub struct ShortHead {
    bytes: [u8; Self::BYTES_MAX],
    len: usize,
}

impl ShortHead {
    /// The most it holds.
    pub const BYTES_MAX: usize = 16;

    /// What `write` writes; `None` if that is too long.
    pub fn new(write: impl FnOnce(&mut Writer<'_>) -> Result<(), EncodeError>) -> Option<Self> {
        let mut bytes = [0; Self::BYTES_MAX];
        let mut writer = Writer::new(&mut bytes);
        write(&mut writer).ok()?;
        let len = writer.position();
        Some(Self { bytes, len })
    }

    /// Without its last byte; `None` if there is none.
    #[must_use]
    pub fn shortened(&self) -> Option<Self> {
        let len = self.len.checked_sub(1)?;
        Some(Self { len, ..*self })
    }
}

impl Encode for ShortHead {
    #[inline(always)]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.front_of(&self.bytes, self.len)
    }
}
