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

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its first `len` bytes, or all if it has no more.
    #[must_use]
    pub fn front(&self, len: usize) -> Self {
        Self {
            len: self.len.min(len),
            ..*self
        }
    }
}

impl Encode for ShortHead {
    #[inline(always)]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.front_of(&self.bytes, self.len)
    }
}
