// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routing context of messages between routers, an extension with a number.
//!
//! ```text
//! 0x33 | vle: low 16 bits router | next 16 bits mark of the trees
//! ```
//! Other implementations write and read the low 16 bits only.

use crate::{
    error::DecodeError,
    extension::Chain,
    reader::Reader,
    writer::{EncodeError, Writer},
};

/// Router where a message entered a mesh, and the trees along which it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NodeId {
    /// The sender's number of the router where the message entered the mesh; 0 is the sender
    /// itself, and every sender that is no router.
    pub router: u16,
    /// Mark of the trees that this router had when the message entered; 0 if it gave none.
    pub trees: u16,
}

impl NodeId {
    /// The sender itself, without a mark: nothing is written for it.
    pub const ITSELF: NodeId = NodeId::of(0);

    /// The key of the extension.
    pub(super) const KEY: u8 = 0x33;

    /// Creates the context of a router by its number, without a mark.
    #[inline]
    pub const fn of(router: u16) -> Self {
        NodeId { router, trees: 0 }
    }

    /// Returns true if the message comes from the sender itself and has no mark.
    #[inline(always)]
    pub const fn is_itself(self) -> bool {
        self.router == 0 && self.trees == 0
    }

    /// Reads the value behind the key.
    #[inline]
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let value = reader.v32()?;
        let [low, high] = [value, value >> 16].map(|half| half & 0xffff);
        Ok(NodeId {
            router: u16::try_from(low).unwrap_or_default(),
            trees: u16::try_from(high).unwrap_or_default(),
        })
    }

    /// Writes the extension, unless nothing has to be written.
    #[inline(always)]
    pub(super) fn write(
        self,
        chain: &mut Chain,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        if self.is_itself() {
            return Ok(());
        }
        let value = u64::from(self.trees) << 16 | u64::from(self.router);
        chain.number(writer, Self::KEY, value)
    }
}
