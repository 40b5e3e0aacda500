// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payloads that lie in the sender's shared memory: a body announces one by an extension, and has
//! in place of its payload
//!
//! ```text
//! | z32 count     |
//! | u8 kind       |   count times; 0 the bytes themselves, 1 where they lie
//! | z32 length    |
//! | bytes         |
//! ```
//! This implementation shares no memory and never announces it, so such a message is for another
//! node. The reader skips it.

use crate::{error::DecodeError, reader::Reader};

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

fn slices(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    for _ in 0..reader.z32()? {
        reader.u8()?;
        reader.bytes_z32()?;
    }
    Ok(())
}
