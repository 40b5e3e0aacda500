// SPDX-License-Identifier: MIT OR Apache-2.0
//! The stand-in for compression in a build without it: nothing is ever packed, and this node does not agree to it.

use zonda_codec::ZSlice;

use crate::protocol::tx::Batch;

/// The sending side of a link with compression, of which there is none here.
#[derive(Debug)]
pub enum Packer {}

impl Packer {
    /// None.
    #[must_use]
    pub fn new() -> Option<Box<Packer>> {
        None
    }

    /// See the other build.
    pub fn pack(
        &mut self,
        _batch: &mut Batch,
        _free: &mut Vec<Box<[u8]>>,
        _buffer_bytes: usize,
    ) -> Option<ZSlice> {
        match *self {}
    }

    /// See the other build.
    pub fn trim(&mut self) {
        match *self {}
    }
}

/// Nothing can be unpacked here.
pub(super) fn unpack(_content: &[u8], _room: &mut [u8]) -> Option<usize> {
    None
}
