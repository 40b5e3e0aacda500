// SPDX-License-Identifier: MIT OR Apache-2.0
//! OPEN: each side's lease and first sequence number; with the Ack the link is live.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|T|A|  0x02   |   A: 0 Syn, 1 Ack; T: the lease counts seconds, else milliseconds
//! +-+-+-+---------+
//! | v64 lease     |
//! | v32 sn        |
//! | cookie        | if not A: vle length, bytes
//! | extensions    | if Z: 0x01 qos, 0x42 shm, 0x43 auth, 0x44 (Syn) or 0x04 (Ack) multilink,
//! |               |       0x05 low latency, 0x06 compression, 0x27 remote bound
//! +---------------+
//! ```

use core::time::Duration;

use crate::{
    error::DecodeError,
    extension::{self, Chain, MORE},
    reader::Reader,
    transport::{FLAG_ACK, id, lease, lease_value},
    writer::{Encode, EncodeError, Writer},
};

const FLAG_SECONDS: u8 = 0x40;
const KEY_QOS: u8 = 0x01;
const KEY_SHM: u8 = 0x42;
const KEY_AUTH: u8 = 0x43;
const KEY_MULTILINK_SYN: u8 = 0x44;
const KEY_MULTILINK_ACK: u8 = 0x04;
const KEY_LOW_LATENCY: u8 = 0x05;
const KEY_COMPRESSION: u8 = 0x06;
const KEY_REMOTE_BOUND: u8 = 0x27;

/// Side of a gateway on which the other node lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemoteBound {
    /// Upstream.
    North,
    /// Downstream.
    South,
}

/// The data of the features agreed in INIT. The default is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenExt<'a> {
    /// Reserved.
    pub qos: bool,
    /// Shared memory.
    pub shm: Option<&'a [u8]>,
    /// Authentication, in a chain of extensions of its own.
    pub auth: Option<&'a [u8]>,
    /// The proof that several links come from one node; the Ack carries no bytes.
    pub multilink: Option<&'a [u8]>,
    /// Reserved.
    pub low_latency: bool,
    /// Reserved.
    pub compression: bool,
    /// The side of the gateway.
    pub remote_bound: Option<RemoteBound>,
}

impl<'a> OpenExt<'a> {
    fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let ack = header & FLAG_ACK != 0;
        let mut ext = OpenExt::default();
        // Extensions; unknown ones that are not mandatory are skipped.
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                KEY_QOS => ext.qos = true,
                KEY_SHM => ext.shm = Some(reader.bytes_z32()?),
                KEY_AUTH => ext.auth = Some(reader.bytes_z32()?),
                KEY_MULTILINK_SYN if !ack => ext.multilink = Some(reader.bytes_z32()?),
                KEY_MULTILINK_ACK if ack => ext.multilink = Some(&[]),
                KEY_LOW_LATENCY => ext.low_latency = true,
                KEY_COMPRESSION => ext.compression = true,
                KEY_REMOTE_BOUND => {
                    ext.remote_bound = Some(match reader.z64()? {
                        0 => RemoteBound::North,
                        1 => RemoteBound::South,
                        other => return Err(reader.invalid("remote bound", other)),
                    });
                }
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(ext)
    }

    fn write(
        &self,
        ack: bool,
        chain: &mut Chain,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        // In the order of their ids.
        if self.qos {
            chain.unit(writer, KEY_QOS)?;
        }
        if let Some(shm) = self.shm {
            chain.bytes(writer, KEY_SHM, shm)?;
        }
        if let Some(auth) = self.auth {
            chain.bytes(writer, KEY_AUTH, auth)?;
        }
        match self.multilink {
            None => {}
            Some(_) if ack => chain.unit(writer, KEY_MULTILINK_ACK)?,
            Some(proof) => chain.bytes(writer, KEY_MULTILINK_SYN, proof)?,
        }
        if self.low_latency {
            chain.unit(writer, KEY_LOW_LATENCY)?;
        }
        if self.compression {
            chain.unit(writer, KEY_COMPRESSION)?;
        }
        if let Some(bound) = self.remote_bound {
            chain.number(writer, KEY_REMOTE_BOUND, bound as u64)?;
        }
        Ok(())
    }
}

/// The opener's second message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSyn<'a> {
    /// The lease of the opener, in whole milliseconds.
    pub lease: Duration,
    /// The opener's first sequence number on every channel.
    pub initial_sn: u32,
    /// The acceptor's cookie.
    pub cookie: &'a [u8],
    /// The data of the features.
    pub ext: OpenExt<'a>,
}

/// The acceptor's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenAck<'a> {
    /// The lease of the acceptor, in whole milliseconds.
    pub lease: Duration,
    /// The acceptor's first sequence number on every channel.
    pub initial_sn: u32,
    /// The data of the features.
    pub ext: OpenExt<'a>,
}

impl<'a> OpenSyn<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(OpenSyn {
            lease: lease(reader.z64()?, header & FLAG_SECONDS != 0),
            initial_sn: reader.v32()?,
            cookie: reader.bytes_z64()?,
            ext: OpenExt::read(header, reader)?,
        })
    }
}

impl<'a> OpenAck<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(OpenAck {
            lease: lease(reader.z64()?, header & FLAG_SECONDS != 0),
            initial_sn: reader.v32()?,
            ext: OpenExt::read(header, reader)?,
        })
    }
}

fn write_fixed(
    ack: u8,
    lease: Duration,
    initial_sn: u32,
    writer: &mut Writer<'_>,
) -> Result<(), EncodeError> {
    let (lease, in_seconds) = lease_value(lease);
    writer.u8(id::OPEN | ack | if in_seconds { FLAG_SECONDS } else { 0 })?;
    writer.vle(lease)?;
    writer.vle(u64::from(initial_sn))
}

impl Encode for OpenSyn<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            write_fixed(0, self.lease, self.initial_sn, writer)?;
            writer.bytes_vle_at_most(self.cookie, u64::from(u16::MAX))?;
            self.ext.write(false, &mut chain, writer)
        })
    }
}

impl Encode for OpenAck<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            write_fixed(FLAG_ACK, self.lease, self.initial_sn, writer)?;
            self.ext.write(true, &mut chain, writer)
        })
    }
}
