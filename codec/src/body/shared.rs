// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payloads that lie in memory which sender and receiver share: a body announces one by an extension, and has in place of
//! its payload
//!
//! ```text
//! | z32 count     |
//! | u8 kind       |   count times; 0 the bytes themselves, 1 where they lie
//! | z32 length    |
//! | bytes         |
//! ```
//! The decoders of messages read over such a message. [`crate::shared`] reads it for a link whose ends share memory.

use crate::{encoding::Encoding, error::DecodeError, reader::Reader};

/// Extension of a body whose payload is shared: a unit that the reader must know.
pub(crate) const KEY: u8 = 0x12;

/// Skips a shared payload, the last field of its message, and returns the error that reports it.
#[cold]
pub(crate) fn read_over(reader: &mut Reader<'_>) -> DecodeError {
    match slices(reader) {
        Ok(()) => DecodeError::SharedMemory {
            end: reader.position(),
        },
        Err(error) => error,
    }
}

/// Skips the slices of a payload.
pub(crate) fn slices(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    for _ in 0..reader.z32()? {
        reader.u8()?;
        reader.bytes_z32()?;
    }
    Ok(())
}

/// Skips the shared body of a query behind its key. Its length counts the bytes that the slices name, not those that
/// follow.
#[cold]
pub(crate) fn read_over_body(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    reader.z32()?;
    Encoding::read(reader)?;
    slices(reader)
}
