// SPDX-License-Identifier: MIT OR Apache-2.0
//! JOIN: the presence of a multicast node, repeated before its lease expires.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|S|T|  0x07   |   T: the lease counts seconds, else milliseconds
//! +-+-+-+---------+
//! | u8 version    |
//! |zid len|0 0|wai|
//! | zid           |
//! | u8 resolution | if S
//! | u16 batch size| if S: little-endian
//! | v64 lease     |
//! | v32 v32 sns   | the next ones: reliable, best effort
//! | extensions    | if Z: 0x51 next sns of 8 priorities, 0x52 shm, 0x27 patch (vle)
//! +---------------+
//! ```

use core::time::Duration;

use crate::{
    error::DecodeError,
    extension::{self, Chain, MORE},
    id::{WhatAmI, ZenohId},
    qos::Priority,
    reader::Reader,
    transport::{FLAG_SIZES, Resolution, id, lease, lease_value},
    writer::{Encode, EncodeError, Writer, vle_len},
};

const FLAG_SECONDS: u8 = 0x20;
const KEY_QOS: u8 = 0x51;
const KEY_SHM: u8 = 0x52;
const KEY_PATCH: u8 = 0x27;

/// The default batch size of JOIN.
const DEFAULT_BATCH_SIZE: u16 = 8192;

/// The next sequence numbers of a reliable and a best-effort channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NextSn {
    /// Number of the reliable channel.
    pub reliable: u32,
    /// Number of the best-effort channel.
    pub best_effort: u32,
}

impl NextSn {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(NextSn {
            reliable: reader.v32()?,
            best_effort: reader.v32()?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.vle(u64::from(self.reliable))?;
        writer.vle(u64::from(self.best_effort))
    }

    fn len(&self) -> usize {
        vle_len(u64::from(self.reliable)) + vle_len(u64::from(self.best_effort))
    }
}

/// The presence of a multicast node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Join<'a> {
    /// The protocol version.
    pub version: u8,
    /// The node's role.
    pub whatami: WhatAmI,
    /// The node's id.
    pub zid: ZenohId,
    /// The widths it uses.
    pub resolution: Resolution,
    /// The batch size it uses, in bytes.
    pub batch_size: u16,
    /// The lease, in whole milliseconds.
    pub lease: Duration,
    /// The sender's next sequence numbers.
    pub next_sn: NextSn,
    /// The next sequence numbers of each priority, if the sender uses priorities.
    pub qos: Option<[NextSn; Priority::ALL.len()]>,
    /// Shared memory.
    pub shm: Option<&'a [u8]>,
    /// The level of the protocol's amendments; 0 is not written.
    pub patch: u8,
}

impl<'a> Join<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let version = reader.u8()?;
        let identity = reader.u8()?;
        let whatami = WhatAmI::read(identity, reader)?;
        let zid = ZenohId::read(identity, reader)?;
        // Sizes other than the defaults.
        let (mut resolution, mut batch_size) = (Resolution::default(), DEFAULT_BATCH_SIZE);
        if header & FLAG_SIZES != 0 {
            resolution = Resolution::from_bits(reader.u8()?);
            batch_size = reader.u16_le()?;
        }
        let mut join = Join {
            version,
            whatami,
            zid,
            resolution,
            batch_size,
            lease: lease(reader.z64()?, header & FLAG_SECONDS != 0),
            next_sn: NextSn::read(reader)?,
            qos: None,
            shm: None,
            patch: 0,
        };
        // Extensions; unknown ones that are not mandatory are skipped.
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_QOS => join.qos = Some(reader.whole_section_z32(read_qos)?),
                KEY_SHM => join.shm = Some(reader.bytes_z32()?),
                KEY_PATCH => join.patch = reader.z64()? as u8,
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(join)
    }
}

fn read_qos(section: &mut Reader<'_>) -> Result<[NextSn; Priority::ALL.len()], DecodeError> {
    let mut sns = [NextSn::default(); Priority::ALL.len()];
    for sn in &mut sns {
        *sn = NextSn::read(section)?;
    }
    Ok(sns)
}

impl Encode for Join<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let (lease, in_seconds) = lease_value(self.lease);
        let sizes =
            self.resolution != Resolution::default() || self.batch_size != DEFAULT_BATCH_SIZE;
        // The header announces the optional fields.
        let mut header = id::JOIN;
        if in_seconds {
            header |= FLAG_SECONDS;
        }
        if sizes {
            header |= FLAG_SIZES;
        }
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            writer.u8(header)?;
            writer.u8(self.version)?;
            writer.u8(self.zid.header(self.whatami.code()))?;
            writer.bytes(self.zid.as_le_bytes())?;
            if sizes {
                writer.u8(self.resolution.bits())?;
                writer.u16_le(self.batch_size)?;
            }
            writer.vle(lease)?;
            self.next_sn.write(writer)?;
            // Extensions.
            if let Some(sns) = &self.qos {
                chain.section(writer, KEY_QOS, sns.iter().map(NextSn::len).sum())?;
                sns.iter().try_for_each(|sn| sn.write(writer))?;
            }
            if let Some(shm) = self.shm {
                chain.bytes(writer, KEY_SHM, shm)?;
            }
            if self.patch != 0 {
                chain.number(writer, KEY_PATCH, u64::from(self.patch))?;
            }
            Ok(())
        })
    }
}
