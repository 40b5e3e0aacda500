// SPDX-License-Identifier: MIT OR Apache-2.0
//! RESPONSE_FINAL: no more answers to a query.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|X|X|  0x1a   |
//! +-+-+-+---------+
//! | z32 rid       |
//! | extensions    | if Z: 0x21 qos, 0x42 timestamp
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

/// The end of the answers to a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseFinal {
    /// The request's number.
    pub rid: u32,
    /// Quality of service of the request.
    pub qos: Qos,
    /// The hop's time.
    pub timestamp: Option<Timestamp>,
}

impl ResponseFinal {
    #[inline(always)]
    pub(crate) fn read(header: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let rid = reader.z32()?;
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
        Ok(ResponseFinal {
            rid,
            qos,
            timestamp,
        })
    }
}

impl Encode for ResponseFinal {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            writer.u8(id::RESPONSE_FINAL)?;
            writer.vle(u64::from(self.rid))?;
            self.qos.write(&mut chain, writer)?;
            Timestamp::write_extension(&self.timestamp, &mut chain, writer)
        })
    }
}
