// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compressed batches, on links that agreed on them.
//!
//! ```text
//! +----------------+----------+---------------------------+
//! | u16 length     | u8 flags | content                   |
//! +----------------+----------+---------------------------+
//!                    bit 0: 1 the content is one LZ4 block, at most 65535 bytes unpacked
//!                           0 the content is the batch as it is
//! ```
//! A batch is made with room for the flags and is a plain one until a [`Packer`] finds that it gets
//! shorter. That happens just before the batch is written, by the writer, with no lane locked; a
//! payload that follows a batch as a shared slice is not copied unless the whole gets shorter. An
//! [`Unpacker`] unpacks into blocks that messages share, like blocks that were read. Neither
//! allocates in the long run, unless messages keep the blocks.

#[cfg(not(feature = "compression"))]
mod absent;
#[cfg(feature = "compression")]
mod lz4;
#[cfg(all(test, feature = "compression"))]
mod tests;

#[cfg(not(feature = "compression"))]
pub use absent::Packer;
#[cfg(not(feature = "compression"))]
use absent::unpack;
#[cfg(feature = "compression")]
pub use lz4::Packer;
#[cfg(feature = "compression")]
use lz4::unpack;

use std::sync::Arc;

use zonda_codec::ZSlice;

/// True if this build can compress.
pub const AVAILABLE: bool = cfg!(feature = "compression");

/// Maximum length of a batch after unpacking, in bytes.
pub const UNPACKED_BYTES_MAX: usize = 65_535;

/// Flag of a batch whose content is an LZ4 block.
const PACKED: u8 = 0x01;

/// Number of blocks that are kept while messages still refer to them; further ones belong to the
/// messages alone.
const POOL_MAX: usize = 4;

/// The content of a batch is no LZ4 block of at most [`UNPACKED_BYTES_MAX`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a compressed batch of {length} bytes is corrupt or exceeds {UNPACKED_BYTES_MAX} bytes unpacked"
)]
pub struct Corrupt {
    /// Length of the batch, without prefix and flags.
    pub length: usize,
}

/// Place of the messages of a batch.
#[derive(Debug)]
pub enum Content {
    /// The messages lie in the batch itself, behind its flags.
    Plain,
    /// The messages lie in this block.
    Unpacked(ZSlice),
}

/// Receiving side of a link with compression.
#[derive(Debug, Default)]
pub struct Unpacker {
    pool: Vec<Arc<Vec<u8>>>,
}

impl Unpacker {
    /// Takes a batch, without its length prefix, and unpacks it if it is compressed.
    ///
    /// # Errors
    /// [`Corrupt`]: the link is not to be trusted any more.
    pub fn open(&mut self, batch: &[u8]) -> Result<Content, Corrupt> {
        let Some((flags, content)) = batch.split_first() else {
            return Ok(Content::Plain);
        };
        if flags & PACKED == 0 {
            return Ok(Content::Plain);
        }
        let length = content.len();
        let mut block = self.unused();
        let room = Arc::get_mut(&mut block).map_or(&mut [][..], Vec::as_mut_slice);
        let unpacked = unpack(content, room);
        let shared = Arc::clone(&block) as _;
        if self.pool.len() < POOL_MAX {
            self.pool.push(block);
        }
        let unpacked = unpacked.ok_or(Corrupt { length })?;
        let slice = ZSlice::new(shared, 0, unpacked).map_err(|_| Corrupt { length })?;
        Ok(Content::Unpacked(slice))
    }

    /// Frees the memory that is kept for the next batches.
    pub fn release(&mut self) {
        self.pool = Vec::new();
    }

    /// Returns a block that no message refers to.
    fn unused(&mut self) -> Arc<Vec<u8>> {
        let unused = self
            .pool
            .iter()
            .position(|block| Arc::strong_count(block) == 1);
        match unused {
            Some(index) => self.pool.swap_remove(index),
            None => {
                if self.pool.len() == POOL_MAX {
                    self.pool.swap_remove(0);
                }
                Arc::new(vec![0; UNPACKED_BYTES_MAX])
            }
        }
    }
}
