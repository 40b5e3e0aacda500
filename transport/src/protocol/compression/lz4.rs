// SPDX-License-Identifier: MIT OR Apache-2.0
//! LZ4 block format, by a library that has no unsafe code as it is built here.

use std::fmt;

use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size,
};
use zonda_codec::ZSlice;

use super::PACKED;
use crate::protocol::tx::Batch;

/// Minimum length of a batch that is worth compressing.
const PACK_BYTES_MIN: usize = 64;

/// Sending side of a link with compression.
#[derive(Default)]
pub struct Packer {
    table: CompressTable,
    /// A batch and its payload in one piece.
    joined: Vec<u8>,
    packed: Vec<u8>,
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packer")
    }
}

impl Packer {
    /// Creates a packer for links that agreed on compression.
    #[must_use]
    pub fn new() -> Option<Box<Packer>> {
        Some(Box::default())
    }

    /// Compresses a sealed batch if that makes it shorter. `free` may give it a buffer of
    /// `buffer_bytes`. Returns a shared payload that is not needed any more.
    pub fn pack(
        &mut self,
        batch: &mut Batch,
        free: &mut Vec<Box<[u8]>>,
        buffer_bytes: usize,
    ) -> Option<ZSlice> {
        let plain = batch.body().len() + batch.tail().map_or(0, |tail| tail.len());
        // A full socket puts back batches that were already tried.
        if plain < PACK_BYTES_MIN || batch.is_settled() {
            return None;
        }
        let room = get_maximum_output_size(plain);
        if self.packed.len() < room {
            self.packed.resize(room, 0);
        }
        let input = match batch.tail() {
            None => batch.body(),
            Some(tail) => {
                self.joined.clear();
                self.joined.extend_from_slice(batch.body());
                self.joined.extend_from_slice(tail.as_slice());
                &self.joined
            }
        };
        match compress_into_with_table(input, &mut self.packed, &mut self.table) {
            Ok(count) if count < plain => {
                batch.replace(PACKED, &self.packed[..count], free, buffer_bytes)
            }
            _ => {
                batch.settle();
                None
            }
        }
    }

    /// Frees memory while the link is idle.
    pub fn trim(&mut self) {
        self.joined = Vec::new();
        self.packed = Vec::new();
    }
}

/// Unpacks a block into `room`; returns its length. `None` if it is not a block, or too long.
pub(super) fn unpack(content: &[u8], room: &mut [u8]) -> Option<usize> {
    decompress_into(content, room).ok()
}
