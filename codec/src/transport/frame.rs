// SPDX-License-Identifier: MIT OR Apache-2.0
//! FRAME: network messages of one channel, with one sequence number.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|X|R|  0x05   |   R: the channel is reliable
//! +-+-+-+---------+
//! | v32 sn        |
//! | extensions    | if Z: 0x31 priority (vle, bits 0-2), left out for Data
//! | messages      | until a byte that starts no network message
//! +---------------+
//! ```

use crate::{
    error::DecodeError,
    extension::{self, Chain, MORE},
    qos::{Priority, Reliability},
    reader::Reader,
    transport::{KEY_QOS, id, read_priority, reliability, reliability_flag, write_priority},
    writer::{Encode, EncodeError, Writer},
};

/// The fields before the network messages of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameHeader {
    /// The channel's reliability, and so that of every message in the frame.
    pub reliability: Reliability,
    /// The channel's priority.
    pub priority: Priority,
    /// The frame's number on the channel.
    pub sn: u32,
}

impl FrameHeader {
    #[inline]
    pub(crate) fn read(header: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let sn = reader.v32()?;
        let mut priority = Priority::Data;
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_QOS => priority = read_priority(reader)?,
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(FrameHeader {
            reliability: reliability(header),
            priority,
            sn,
        })
    }
}

impl Encode for FrameHeader {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            writer.u8(id::FRAME | reliability_flag(self.reliability))?;
            writer.vle(u64::from(self.sn))?;
            write_priority(self.priority, &mut chain, writer)
        })
    }
}
