// SPDX-License-Identifier: MIT OR Apache-2.0
//! INIT: the parameters of a connection, offered (Syn) and agreed (Ack).
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|S|A|  0x01   |   A: 0 Syn, 1 Ack
//! +-+-+-+---------+
//! | u8 version    |
//! |zid len|0 0|wai|   length of the id less one; 0 router, 1 peer, 2 client
//! | zid           |
//! | u8 resolution | if S: bits 0-1 frame sn, bits 2-3 request id; 0 = 8, 1 = 16, 2 = 32, 3 = 64 bits
//! | u16 batch size| if S: little-endian
//! | cookie        | if A: z16 length, bytes
//! | extensions    | if Z: see InitExt
//! +---------------+
//! ```

use crate::{
    PROTOCOL_VERSION,
    error::DecodeError,
    extension::Chain,
    id::{WhatAmI, ZenohId},
    reader::Reader,
    transport::{FLAG_ACK, FLAG_SIZES, InitExt, id},
    writer::{Encode, EncodeError, Writer},
};

/// Number of bits of sequence numbers and of request ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Resolution(u8);

impl Resolution {
    /// Creates the resolution with these bits; the upper four have no meaning and are dropped.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Resolution(bits & 0x0f)
    }

    /// Bits 0-1: frame sequence numbers; bits 2-3: request ids.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the bits of frame sequence numbers: 8, 16, 32 or 64.
    #[inline]
    pub const fn frame_sn_bits(self) -> u8 {
        8 << (self.0 & 0b11)
    }

    /// Returns the bits of request ids: 8, 16, 32 or 64.
    #[inline]
    pub const fn request_id_bits(self) -> u8 {
        8 << (self.0 >> 2)
    }

    /// Returns the mask of frame sequence numbers. Variable-length encoding leaves 7 of 8 bits for
    /// the number.
    #[inline]
    pub const fn frame_sn_mask(self) -> u32 {
        match self.0 & 0b11 {
            0 => 0x7f,
            1 => 0x3fff,
            2 => 0x0fff_ffff,
            _ => u32::MAX,
        }
    }

    /// Returns the smaller of each field.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        let (frame, other_frame) = (self.0 & 0b0011, other.0 & 0b0011);
        let (request, other_request) = (self.0 & 0b1100, other.0 & 0b1100);
        let frame = if frame < other_frame {
            frame
        } else {
            other_frame
        };
        let request = if request < other_request {
            request
        } else {
            other_request
        };
        Resolution(frame | request)
    }
}

impl Default for Resolution {
    /// Returns 32 bits for both.
    fn default() -> Self {
        Resolution(0x0a)
    }
}

/// The default batch size of INIT.
const DEFAULT_BATCH_SIZE: u16 = u16::MAX;

/// The opener's first message: its id and its offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitSyn<'a> {
    /// The protocol version, [`PROTOCOL_VERSION`].
    pub version: u8,
    /// The opener's role.
    pub whatami: WhatAmI,
    /// The opener's id.
    pub zid: ZenohId,
    /// The widths it offers.
    pub resolution: Resolution,
    /// The batch size it offers, in bytes.
    pub batch_size: u16,
    /// The features it offers.
    pub ext: InitExt<'a>,
}

/// The acceptor's answer: the agreed parameters, and a cookie to be returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitAck<'a> {
    /// The protocol version.
    pub version: u8,
    /// The acceptor's role.
    pub whatami: WhatAmI,
    /// The acceptor's id.
    pub zid: ZenohId,
    /// The widths agreed.
    pub resolution: Resolution,
    /// The batch size agreed, in bytes.
    pub batch_size: u16,
    /// Opaque bytes for OPEN, 1 to 65535.
    pub cookie: &'a [u8],
    /// The features agreed.
    pub ext: InitExt<'a>,
}

impl<'a> InitSyn<'a> {
    /// Creates an offer of the default sizes without features.
    pub fn new(whatami: WhatAmI, zid: ZenohId) -> Self {
        InitSyn {
            version: PROTOCOL_VERSION,
            whatami,
            zid,
            resolution: Resolution::default(),
            batch_size: DEFAULT_BATCH_SIZE,
            ext: InitExt::default(),
        }
    }

    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut init = read_fixed(header, reader)?;
        init.ext = InitExt::read(header, reader)?;
        Ok(init)
    }
}

impl<'a> InitAck<'a> {
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let init = read_fixed(header, reader)?;
        let cookie = reader.bytes_z16()?;
        Ok(InitAck {
            version: init.version,
            whatami: init.whatami,
            zid: init.zid,
            resolution: init.resolution,
            batch_size: init.batch_size,
            cookie,
            ext: InitExt::read(header, reader)?,
        })
    }
}

/// Reads the fields that both kinds begin with.
fn read_fixed<'a>(header: u8, reader: &mut Reader<'a>) -> Result<InitSyn<'a>, DecodeError> {
    let version = reader.u8()?;
    let identity = reader.u8()?;
    let whatami = WhatAmI::read(identity, reader)?;
    let mut init = InitSyn::new(whatami, ZenohId::read(identity, reader)?);
    init.version = version;
    if header & FLAG_SIZES != 0 {
        init.resolution = Resolution::from_bits(reader.u8()?);
        init.batch_size = reader.u16_le()?;
    }
    Ok(init)
}

fn write_fixed(ack: u8, init: &InitSyn<'_>, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
    let sizes = init.resolution != Resolution::default() || init.batch_size != DEFAULT_BATCH_SIZE;
    writer.u8(id::INIT | ack | if sizes { FLAG_SIZES } else { 0 })?;
    writer.u8(init.version)?;
    writer.u8(init.zid.header(init.whatami.code()))?;
    writer.bytes(init.zid.as_le_bytes())?;
    if sizes {
        writer.u8(init.resolution.bits())?;
        writer.u16_le(init.batch_size)?;
    }
    Ok(())
}

impl Encode for InitSyn<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            write_fixed(0, self, writer)?;
            self.ext.write(&mut chain, writer)
        })
    }
}

impl Encode for InitAck<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let fixed = InitSyn {
            version: self.version,
            whatami: self.whatami,
            zid: self.zid,
            resolution: self.resolution,
            batch_size: self.batch_size,
            ext: self.ext,
        };
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            write_fixed(FLAG_ACK, &fixed, writer)?;
            writer.bytes_vle_at_most(self.cookie, u64::from(u16::MAX))?;
            self.ext.write(&mut chain, writer)
        })
    }
}
