// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stub for compression in a build without it: this node never compresses a batch and does not
//! agree to compression.

use zonda_codec::ZSlice;

use crate::protocol::tx::Batch;

/// Sending side of a link with compression, which this build does not have.
#[derive(Debug)]
pub enum Packer {}

impl Packer {
    /// Returns `None`.
    #[must_use]
    pub fn new() -> Option<Box<Packer>> {
        None
    }

    /// Never called; see the other build.
    pub fn pack(
        &mut self,
        _batch: &mut Batch,
        _free: &mut Vec<Box<[u8]>>,
        _buffer_bytes: usize,
    ) -> Option<ZSlice> {
        match *self {}
    }

    /// Never called; see the other build.
    pub fn trim(&mut self) {
        match *self {}
    }
}

/// Returns `None`: this build cannot unpack.
pub(super) fn unpack(_content: &[u8], _room: &mut [u8]) -> Option<usize> {
    None
}
