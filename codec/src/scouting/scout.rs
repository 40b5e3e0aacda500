// SPDX-License-Identifier: MIT OR Apache-2.0
//! SCOUT: a search for nodes.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|X|X|  0x01   |
//! +-+-+-+---------+
//! | u8 version    |
//! |zid len|I|what |   what: bit 0 routers, 1 peers, 2 clients; length of the id less one
//! | zid           | if I
//! | extensions    | if Z: none defined
//! +---------------+
//! ```

use crate::{
    error::DecodeError,
    extension,
    id::{Roles, ZenohId},
    reader::Reader,
    scouting::ID_SCOUT,
    writer::{Encode, EncodeError, Writer},
};

const HAS_ID: u8 = 0x08;

/// A search for nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scout {
    /// The protocol version; responders do not check it.
    pub version: u8,
    /// The roles looked for.
    pub what: Roles,
    /// The id of the scouting node; usually left out.
    pub zid: Option<ZenohId>,
}

impl Scout {
    pub(crate) fn read(header: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let version = reader.u8()?;
        let flags = reader.u8()?;
        let zid = if flags & HAS_ID != 0 {
            Some(ZenohId::read(flags, reader)?)
        } else {
            None
        };
        extension::ignore_chain(header, reader)?;
        Ok(Scout {
            version,
            what: Roles::from_bits(flags),
            zid,
        })
    }
}

impl Encode for Scout {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            writer.u8(ID_SCOUT)?;
            writer.u8(self.version)?;
            match &self.zid {
                None => writer.u8(self.what.bits()),
                Some(zid) => {
                    writer.u8(zid.header(HAS_ID | self.what.bits()))?;
                    writer.bytes(zid.as_le_bytes())
                }
            }
        })
    }
}
