// SPDX-License-Identifier: MIT OR Apache-2.0
//! FRAGMENT: a piece of a network message that is larger than a batch.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|M|R|  0x06   |   R: the channel is reliable; M: more pieces follow
//! +-+-+-+---------+
//! | v32 sn        |
//! | extensions    | if Z: 0x31 priority (vle, bits 0-2), 0x02 first (unit), 0x03 drop (unit)
//! | piece         | to the end of the batch
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

const FLAG_MORE: u8 = 0x40;
const KEY_FIRST: u8 = 0x02;
const KEY_DROP: u8 = 0x03;

/// A piece of a network message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The channel's reliability.
    pub reliability: Reliability,
    /// The channel's priority.
    pub priority: Priority,
    /// The fragment's number on the channel.
    pub sn: u32,
    /// Set if more pieces follow.
    pub more: bool,
    /// Set on the first fragment.
    pub first: bool,
    /// Set if the message in progress is given up.
    pub drop: bool,
    /// The piece.
    pub payload: &'a [u8],
}

impl<'a> Fragment<'a> {
    #[inline]
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut fragment = Fragment {
            reliability: reliability(header),
            priority: Priority::Data,
            sn: reader.v32()?,
            more: header & FLAG_MORE != 0,
            first: false,
            drop: false,
            payload: &[],
        };
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_QOS => fragment.priority = read_priority(reader)?,
                KEY_FIRST => fragment.first = true,
                KEY_DROP => fragment.drop = true,
                _ => extension::skip(more, reader)?,
            }
        }
        fragment.payload = reader.rest();
        Ok(fragment)
    }

    /// Writes everything before the piece, which the caller appends. `self.payload` is ignored.
    ///
    /// # Errors
    /// [`EncodeError`] if it does not fit; the position is then unchanged.
    #[inline]
    pub fn encode_header(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            let more = if self.more { FLAG_MORE } else { 0 };
            writer.u8(id::FRAGMENT | reliability_flag(self.reliability) | more)?;
            writer.vle(u64::from(self.sn))?;
            write_priority(self.priority, &mut chain, writer)?;
            if self.first {
                chain.unit(writer, KEY_FIRST)?;
            }
            if self.drop {
                chain.unit(writer, KEY_DROP)?;
            }
            Ok(())
        })
    }
}

impl Encode for Fragment<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.encode_header(writer)?;
            writer.bytes(self.payload)
        })
    }
}
