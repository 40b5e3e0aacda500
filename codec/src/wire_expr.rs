// SPDX-License-Identifier: MIT OR Apache-2.0
//! A key expression on the wire: a declared number for its beginning, and the rest as text.
//!
//! ```text
//! z16 scope | if N: z16 length, suffix          N 0x20 and M 0x40 stand in the enclosing header
//! ```

use crate::{
    error::DecodeError,
    reader::Reader,
    writer::{EncodeError, Writer},
};

/// The node whose declarations give the scope its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Mapping {
    /// The node that receives the message.
    #[default]
    Receiver,
    /// The node that sends the message.
    Sender,
}

/// The text declared as `scope` (empty for 0), directly followed by `suffix`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct WireExpr<'a> {
    /// A declared key expression id, or 0.
    pub scope: u16,
    /// Text behind it; at most 65535 bytes.
    pub suffix: &'a str,
    /// The node that declared the scope.
    pub mapping: Mapping,
}

/// Flag: a text follows the scope.
pub(crate) const FLAG_SUFFIX: u8 = 0x20;
/// Flag: the scope is the sender's.
pub(crate) const FLAG_SENDER: u8 = 0x40;

impl<'a> WireExpr<'a> {
    /// Creates a whole key expression as text.
    #[inline]
    pub const fn full(text: &'a str) -> Self {
        WireExpr {
            scope: 0,
            suffix: text,
            mapping: Mapping::Sender,
        }
    }

    /// Creates a declared id without suffix.
    #[inline]
    pub const fn scoped(scope: u16, mapping: Mapping) -> Self {
        WireExpr {
            scope,
            suffix: "",
            mapping,
        }
    }

    /// Returns true if it names nothing: no scope and no text.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.scope == 0 && self.suffix.is_empty()
    }

    /// Returns the flags N and M of the enclosing header.
    #[inline(always)]
    pub(crate) fn flags(&self) -> u8 {
        let suffix = if self.suffix.is_empty() {
            0
        } else {
            FLAG_SUFFIX
        };
        let sender = match self.mapping {
            Mapping::Receiver => 0,
            Mapping::Sender => FLAG_SENDER,
        };
        suffix | sender
    }

    /// Reads the fields announced by the flags of `header`.
    #[inline(always)]
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(WireExpr {
            scope: reader.z16()?,
            suffix: if header & FLAG_SUFFIX != 0 {
                reader.str_z16()?
            } else {
                ""
            },
            mapping: if header & FLAG_SENDER != 0 {
                Mapping::Sender
            } else {
                Mapping::Receiver
            },
        })
    }

    /// Writes scope and suffix; the flags are the enclosing header's. A suffix that no 16-bit length can
    /// hold is too long.
    #[inline(always)]
    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.vle(u64::from(self.scope))?;
        if self.suffix.is_empty() {
            return Ok(());
        }
        writer.bytes_vle_at_most(self.suffix.as_bytes(), u64::from(u16::MAX))
    }
}
