// SPDX-License-Identifier: MIT OR Apache-2.0
//! OAM on the transport: reserved for maintenance of the connection itself.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|ENC|  0x00   |   ENC: 0 no body, 1 a vle, 2 bytes, 3 reserved
//! +-+---+---------+
//! | v16 id        |
//! | extensions    | if Z: 0x31 priority (vle, bits 0-2)
//! | body          | by ENC: none, vle, or z32 length and bytes
//! +---------------+
//! ```

use crate::{
    error::DecodeError,
    extension::{self, Chain, MORE},
    network::OamBody,
    qos::Priority,
    reader::Reader,
    transport::{KEY_QOS, id, read_priority, write_priority},
    writer::{Encode, EncodeError, Writer},
};

/// A message about the connection itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransportOam<'a> {
    /// The subject; receivers ignore unknown ids.
    pub id: u16,
    /// The priority.
    pub priority: Priority,
    /// The content.
    pub body: OamBody<'a>,
}

impl<'a> TransportOam<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = reader.v16()?;
        let mut priority = Priority::Data;
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_QOS => priority = read_priority(reader)?,
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(TransportOam {
            id,
            priority,
            body: OamBody::read(header, reader)?,
        })
    }
}

impl Encode for TransportOam<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            writer.u8(id::OAM | self.body.bits())?;
            writer.vle(u64::from(self.id))?;
            write_priority(self.priority, &mut chain, writer)?;
            self.body.write(writer)
        })
    }
}
