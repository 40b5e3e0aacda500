// SPDX-License-Identifier: MIT OR Apache-2.0
//! OAM: operation, administration and maintenance; today only link states (id 1).
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|ENC|  0x1f   |   ENC: 0 no body, 1 a vle, 2 bytes, 3 reserved
//! +-+---+---------+
//! | v16 id        |
//! | extensions    | if Z: 0x21 qos, 0x42 timestamp
//! | body          | by ENC: none, vle, or z32 length and bytes
//! +---------------+
//! ```

use crate::{
    error::DecodeError,
    extension::{self, Chain, MORE},
    network::id,
    qos::Qos,
    reader::Reader,
    timestamp::Timestamp,
    writer::{Encode, EncodeError, Writer},
};

/// The body of an OAM message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OamBody<'a> {
    /// Nothing.
    Unit,
    /// A number.
    Z64(u64),
    /// Bytes.
    Buf(&'a [u8]),
}

impl<'a> OamBody<'a> {
    #[inline]
    pub(crate) fn bits(&self) -> u8 {
        match self {
            OamBody::Unit => 0,
            OamBody::Z64(_) => 0x20,
            OamBody::Buf(_) => 0x40,
        }
    }

    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match header & 0x60 {
            0 => Ok(OamBody::Unit),
            0x20 => Ok(OamBody::Z64(reader.z64()?)),
            0x40 => Ok(OamBody::Buf(reader.bytes_z32()?)),
            _ => Err(DecodeError::ReservedEncoding {
                offset: reader.position(),
            }),
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            OamBody::Unit => Ok(()),
            OamBody::Z64(value) => writer.vle(*value),
            OamBody::Buf(bytes) => writer.bytes_vle_at_most(bytes, u64::from(u32::MAX)),
        }
    }
}

/// A message between neighbours about the network itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oam<'a> {
    /// The subject; receivers ignore unknown ids.
    pub id: u16,
    /// Quality of service; usually [`Qos::DECLARE`].
    pub qos: Qos,
    /// The hop's time.
    pub timestamp: Option<Timestamp>,
    /// The content.
    pub body: OamBody<'a>,
}

impl<'a> Oam<'a> {
    /// The id of link states.
    pub const LINK_STATE: u16 = 1;

    #[inline(always)]
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = reader.v16()?;
        let mut qos = Qos::DATA;
        let mut timestamp = None;
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                Qos::KEY => qos = Qos::read(reader)?,
                Timestamp::KEY => timestamp = Some(reader.whole_section_z32(Timestamp::read)?),
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(Oam {
            id,
            qos,
            timestamp,
            body: OamBody::read(header, reader)?,
        })
    }
}

impl Encode for Oam<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            writer.u8(id::OAM | self.body.bits())?;
            writer.vle(u64::from(self.id))?;
            self.qos.write(&mut chain, writer)?;
            Timestamp::write_extension(&self.timestamp, &mut chain, writer)?;
            self.body.write(writer)
        })
    }
}
