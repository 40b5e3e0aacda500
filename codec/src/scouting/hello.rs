// SPDX-License-Identifier: MIT OR Apache-2.0
//! HELLO: a node's answer, with its locators.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|X|L|  0x02   |
//! +-+-+-+---------+
//! | u8 version    |
//! |zid len|0 0|wai|
//! | zid           |
//! | locators      | if L: vle count, each z8 length and text
//! | extensions    | if Z: none defined
//! +---------------+
//! ```

use crate::{
    error::DecodeError,
    extension,
    id::{WhatAmI, ZenohId},
    reader::Reader,
    scouting::{ID_HELLO, Locators},
    writer::{Encode, EncodeError, Writer},
};

const FLAG_LOCATORS: u8 = 0x20;

/// A node's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello<'a> {
    /// The protocol version.
    pub version: u8,
    /// The node's role.
    pub whatami: WhatAmI,
    /// The node's id.
    pub zid: ZenohId,
    /// The locators of the node; if empty, the datagram's source is the only hint.
    pub locators: Locators<'a>,
}

impl<'a> Hello<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let version = reader.u8()?;
        let identity = reader.u8()?;
        let whatami = WhatAmI::read(identity, reader)?;
        let zid = ZenohId::read(identity, reader)?;
        let locators = if header & FLAG_LOCATORS != 0 {
            Locators::read(reader)?
        } else {
            Locators::NONE
        };
        extension::ignore_chain(header, reader)?;
        Ok(Hello {
            version,
            whatami,
            zid,
            locators,
        })
    }
}

impl Encode for Hello<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let has_locators = !self.locators.is_empty();
            writer.u8(ID_HELLO | if has_locators { FLAG_LOCATORS } else { 0 })?;
            writer.u8(self.version)?;
            writer.u8(self.zid.header(self.whatami.code()))?;
            writer.bytes(self.zid.as_le_bytes())?;
            if has_locators {
                self.locators.write(writer)?;
            }
            Ok(())
        })
    }
}
