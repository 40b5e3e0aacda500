// SPDX-License-Identifier: MIT OR Apache-2.0
//! The extensions of INIT: the features of a connection. A feature that is offered and not echoed
//! is off.
//!
//! ```text
//! 0x01 qos          unit      0x43 auth         bytes    0x06 compression  unit
//! 0x21 qos of link  vle       0x44 multilink    bytes    0x27 patch        vle
//! 0x42 shm          bytes     0x05 low latency  unit     0x48 region name  bytes
//! ```

use crate::{
    error::DecodeError,
    extension::{self, Chain, MORE},
    qos::{Priority, Reliability},
    reader::Reader,
    writer::{EncodeError, Writer},
};

const KEY_QOS: u8 = 0x01;
const KEY_QOS_LINK: u8 = 0x21;
const KEY_SHM: u8 = 0x42;
const KEY_AUTH: u8 = 0x43;
const KEY_MULTILINK: u8 = 0x44;
const KEY_LOW_LATENCY: u8 = 0x05;
const KEY_COMPRESSION: u8 = 0x06;
const KEY_PATCH: u8 = 0x27;
const KEY_REGION_NAME: u8 = 0x48;

/// Priorities and reliability that one link of a connection carries.
///
/// Bits 0-2: 1 nothing known, else bit 1 the priorities in bits 3-10 (first) and 11-18 (last), bit 2 the
/// reliability in bit 19.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QosLink(u64);

const HAS_PRIORITIES: u64 = 0b010;
const HAS_RELIABILITY: u64 = 0b100;

impl QosLink {
    /// Creates a link that carries the priorities from the first to the second, both included, and
    /// one reliability; `None` where nothing is known.
    pub fn new(priorities: Option<(Priority, Priority)>, reliability: Option<Reliability>) -> Self {
        let mut bits = 0;
        if let Some((first, last)) = priorities {
            bits |= HAS_PRIORITIES | (first as u64) << 3 | (last as u64) << 11;
        }
        if let Some(reliability) = reliability {
            bits |= HAS_RELIABILITY | (reliability as u64) << 19;
        }
        QosLink(if bits == 0 { 1 } else { bits })
    }

    /// Creates it from the number as received.
    pub const fn from_bits(bits: u64) -> Self {
        QosLink(bits)
    }

    /// Returns the number as sent.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the first and the last priority as numbers; a hostile peer's may exceed 7.
    pub const fn priorities(self) -> Option<(u8, u8)> {
        if self.0 & HAS_PRIORITIES == 0 {
            return None;
        }
        Some(((self.0 >> 3) as u8, (self.0 >> 11) as u8))
    }

    /// Returns the reliability.
    pub const fn reliability(self) -> Option<Reliability> {
        if self.0 & HAS_RELIABILITY == 0 {
            None
        } else if self.0 >> 19 & 1 == 1 {
            Some(Reliability::Reliable)
        } else {
            Some(Reliability::BestEffort)
        }
    }
}

/// The features offered or agreed. The default is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InitExt<'a> {
    /// Support of eight priorities.
    pub qos: bool,
    /// Priorities and reliability of this link; not together with `qos`.
    pub qos_link: Option<QosLink>,
    /// A probe for shared memory.
    pub shm: Option<&'a [u8]>,
    /// Authentication, in a chain of extensions of its own.
    pub auth: Option<&'a [u8]>,
    /// Key exchange for several links.
    pub multilink: Option<&'a [u8]>,
    /// A link without sequence numbers and priorities.
    pub low_latency: bool,
    /// Compression of batches.
    pub compression: bool,
    /// The level of the protocol's amendments; 0 is not written.
    pub patch: u8,
    /// The region of the sender, 1 to 32 bytes.
    pub region_name: Option<&'a str>,
}

impl<'a> InitExt<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut ext = InitExt::default();
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_QOS => ext.qos = true,
                KEY_QOS_LINK => ext.qos_link = Some(QosLink(reader.z64()?)),
                KEY_SHM => ext.shm = Some(reader.bytes_z32()?),
                KEY_AUTH => ext.auth = Some(reader.bytes_z32()?),
                KEY_MULTILINK => ext.multilink = Some(reader.bytes_z32()?),
                KEY_LOW_LATENCY => ext.low_latency = true,
                KEY_COMPRESSION => ext.compression = true,
                KEY_PATCH => ext.patch = reader.z64()? as u8,
                KEY_REGION_NAME => ext.region_name = Some(reader.section_z32()?.str_rest()?),
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(ext)
    }

    pub(crate) fn write(
        &self,
        chain: &mut Chain,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        // In the order of their ids.
        if self.qos {
            chain.unit(writer, KEY_QOS)?;
        }
        if let Some(qos_link) = self.qos_link {
            chain.number(writer, KEY_QOS_LINK, qos_link.bits())?;
        }
        if let Some(shm) = self.shm {
            chain.bytes(writer, KEY_SHM, shm)?;
        }
        if let Some(auth) = self.auth {
            chain.bytes(writer, KEY_AUTH, auth)?;
        }
        if let Some(multilink) = self.multilink {
            chain.bytes(writer, KEY_MULTILINK, multilink)?;
        }
        if self.low_latency {
            chain.unit(writer, KEY_LOW_LATENCY)?;
        }
        if self.compression {
            chain.unit(writer, KEY_COMPRESSION)?;
        }
        if self.patch != 0 {
            chain.number(writer, KEY_PATCH, u64::from(self.patch))?;
        }
        if let Some(name) = self.region_name {
            chain.bytes(writer, KEY_REGION_NAME, name.as_bytes())?;
        }
        Ok(())
    }
}
