// SPDX-License-Identifier: MIT OR Apache-2.0
//! Block of memory that a socket is read into, and that payloads may share.

use std::fmt;

use zonda_codec::{SliceBuffer, ZSlice};
use zonda_runtime::RxBuf;

use crate::ledger::Charge;

/// Receive block that samples may share. The reading task reads into it only while no sample holds
/// it. Its memory is counted until then.
#[derive(Default)]
pub struct SharedBlock(pub(crate) RxBuf, pub(crate) Charge);

impl SharedBlock {
    /// Returns the block that a slice is a part of, if it lies in one.
    pub(crate) fn of(slice: &ZSlice) -> Option<&Self> {
        slice.downcast_ref()
    }

    /// Returns the bytes of memory that a slice of the block keeps.
    pub(crate) fn memory(&self) -> usize {
        self.0.capacity()
    }

    /// Returns the bytes of memory that are counted for the block.
    pub(crate) fn counted(&self) -> usize {
        self.1.bytes()
    }
}

impl fmt::Debug for SharedBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (filled, counted) = (self.0.filled().len(), self.counted());
        write!(f, "SharedBlock({filled} bytes, {counted} counted)")
    }
}

impl SliceBuffer for SharedBlock {
    fn as_slice(&self) -> &[u8] {
        self.0.filled()
    }
}
