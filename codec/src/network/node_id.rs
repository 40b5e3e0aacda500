// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routing context of messages between routers, an extension with a number.
//!
//! ```text
//! 0x33 | vle: low 16 bits router | next 16 bits mark of the trees
//! ```
//! Other implementations write and read the low 16 bits only.

use core::fmt;

use crate::{
    error::DecodeError,
    extension::Chain,
    reader::Reader,
    writer::{EncodeError, Writer},
};

/// Router where a message entered a mesh, and a mark of the trees along which it goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NodeId(u32);

impl NodeId {
    /// The sender itself, without a mark: nothing is written for it.
    pub const ITSELF: NodeId = NodeId(0);

    /// The key of the extension.
    pub(super) const KEY: u8 = 0x33;

    /// Creates the context of a router by its number, without a mark.
    #[inline]
    pub const fn of(router: u16) -> Self {
        NodeId::marked(router, 0)
    }

    /// Creates the context of a router by its number, with the mark of its trees.
    #[inline]
    pub const fn marked(router: u16, trees: u16) -> Self {
        NodeId((trees as u32) << 16 | router as u32)
    }

    /// Returns the sender's number of the router where the message entered the mesh; 0 is the
    /// sender itself, and every sender that is no router.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
    pub const fn router(self) -> u16 {
        self.0 as u16
    }

    /// Returns the mark of the trees that this router had when the message entered; 0 if it gave
    /// none.
    #[inline]
    pub const fn trees(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Returns true if the message comes from the sender itself and has no mark.
    #[inline(always)]
    pub const fn is_itself(self) -> bool {
        self.0 == 0
    }

    /// Reads the value behind the key.
    #[inline]
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.v32().map(NodeId)
    }

    /// Writes the extension, unless nothing has to be written.
    #[inline(always)]
    pub(super) fn write(
        self,
        chain: &mut Chain,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        match self.is_itself() {
            true => Ok(()),
            false => chain.number(writer, Self::KEY, u64::from(self.0)),
        }
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}#{:x}", self.router(), self.trees())
    }
}
