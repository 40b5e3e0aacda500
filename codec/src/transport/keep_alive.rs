// SPDX-License-Identifier: MIT OR Apache-2.0
//! KEEP_ALIVE: shows that the sender is alive when it has nothing else to send.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|X|X|  0x04   |
//! +-+-+-+---------+
//! | extensions    | if Z: none defined
//! +---------------+
//! ```

use crate::{
    error::DecodeError,
    extension,
    reader::Reader,
    transport::id,
    writer::{Encode, EncodeError, Writer},
};

/// A keep-alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeepAlive;

impl KeepAlive {
    #[inline]
    pub(crate) fn read(header: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        extension::skip_chain(header, reader)?;
        Ok(KeepAlive)
    }
}

impl Encode for KeepAlive {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.u8(id::KEEP_ALIVE)
    }
}
