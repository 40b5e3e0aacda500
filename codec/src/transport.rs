// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transport messages, by which two neighbours open, keep and close a connection and carry batches
//! over it.
//!
//! The low five bits of the first byte determine the message, 0x00 to 0x07.

mod close;
mod fragment;
mod frame;
mod init;
mod init_ext;
mod join;
mod keep_alive;
mod oam;
mod open;

pub use close::{Close, reason};
pub use fragment::Fragment;
pub use frame::FrameHeader;
pub use init::{InitAck, InitSyn, Resolution};
pub use init_ext::{InitExt, QosLink};
pub use join::{Join, NextSn};
pub use keep_alive::KeepAlive;
pub use oam::TransportOam;
pub use open::{OpenAck, OpenExt, OpenSyn, RemoteBound};

use core::time::Duration;

use crate::{
    error::DecodeError,
    extension::Chain,
    qos::{Priority, Reliability},
    reader::Reader,
    writer::{Encode, EncodeError, Writer},
};

/// The ids in the low five bits of a transport message's header.
pub mod id {
    /// The bits of the id.
    pub const MASK: u8 = 0x1f;
    /// OAM.
    pub const OAM: u8 = 0x00;
    /// INIT.
    pub const INIT: u8 = 0x01;
    /// OPEN.
    pub const OPEN: u8 = 0x02;
    /// CLOSE.
    pub const CLOSE: u8 = 0x03;
    /// KEEP_ALIVE.
    pub const KEEP_ALIVE: u8 = 0x04;
    /// FRAME.
    pub const FRAME: u8 = 0x05;
    /// FRAGMENT.
    pub const FRAGMENT: u8 = 0x06;
    /// JOIN.
    pub const JOIN: u8 = 0x07;
}

/// Flag of INIT and OPEN: the acceptor sends it.
const FLAG_ACK: u8 = 0x20;
/// Flag of FRAME and FRAGMENT: the channel is reliable.
const FLAG_RELIABLE: u8 = 0x20;
/// Flag of INIT and JOIN: resolution and batch size are present.
const FLAG_SIZES: u8 = 0x40;
/// The key of the priority extension of FRAME, FRAGMENT and OAM.
const KEY_QOS: u8 = 0x31;

/// Any transport message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportMessage<'a> {
    /// The opener's first message.
    InitSyn(InitSyn<'a>),
    /// The acceptor's answer to it.
    InitAck(InitAck<'a>),
    /// The opener's second message.
    OpenSyn(OpenSyn<'a>),
    /// The acceptor's answer to it; the link is live.
    OpenAck(OpenAck<'a>),
    /// The end.
    Close(Close),
    /// A keep-alive.
    KeepAlive,
    /// Network messages follow.
    Frame(FrameHeader),
    /// A piece of a network message.
    Fragment(Fragment<'a>),
    /// The presence of a multicast node.
    Join(Join<'a>),
    /// Operation, administration, maintenance.
    Oam(TransportOam<'a>),
}

impl<'a> TransportMessage<'a> {
    /// Reads one message. Of a FRAME only the header is read: network messages follow it. A FRAGMENT takes
    /// the rest of the reader.
    ///
    /// # Errors
    /// If the bytes are not a transport message; the reader then stands inside it.
    #[inline]
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let header = reader.u8()?;
        Ok(match header & id::MASK {
            id::FRAME => TransportMessage::Frame(FrameHeader::read(header, reader)?),
            id::FRAGMENT => TransportMessage::Fragment(Fragment::read(header, reader)?),
            id::KEEP_ALIVE => {
                KeepAlive::read(header, reader)?;
                TransportMessage::KeepAlive
            }
            id::INIT if header & FLAG_ACK == 0 => {
                TransportMessage::InitSyn(InitSyn::read(header, reader)?)
            }
            id::INIT => TransportMessage::InitAck(InitAck::read(header, reader)?),
            id::OPEN if header & FLAG_ACK == 0 => {
                TransportMessage::OpenSyn(OpenSyn::read(header, reader)?)
            }
            id::OPEN => TransportMessage::OpenAck(OpenAck::read(header, reader)?),
            id::CLOSE => TransportMessage::Close(Close::read(header, reader)?),
            id::JOIN => TransportMessage::Join(Join::read(header, reader)?),
            id::OAM => TransportMessage::Oam(TransportOam::read(header, reader)?),
            other => return Err(reader.unknown_id("transport message", other)),
        })
    }
}

impl Encode for TransportMessage<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            TransportMessage::InitSyn(message) => message.encode(writer),
            TransportMessage::InitAck(message) => message.encode(writer),
            TransportMessage::OpenSyn(message) => message.encode(writer),
            TransportMessage::OpenAck(message) => message.encode(writer),
            TransportMessage::Close(message) => message.encode(writer),
            TransportMessage::KeepAlive => KeepAlive.encode(writer),
            TransportMessage::Frame(message) => message.encode(writer),
            TransportMessage::Fragment(message) => message.encode(writer),
            TransportMessage::Join(message) => message.encode(writer),
            TransportMessage::Oam(message) => message.encode(writer),
        }
    }
}

#[inline]
fn reliability(header: u8) -> Reliability {
    if header & FLAG_RELIABLE != 0 {
        Reliability::Reliable
    } else {
        Reliability::BestEffort
    }
}

#[inline]
fn reliability_flag(reliability: Reliability) -> u8 {
    match reliability {
        Reliability::Reliable => FLAG_RELIABLE,
        Reliability::BestEffort => 0,
    }
}

#[inline]
fn read_priority(reader: &mut Reader<'_>) -> Result<Priority, DecodeError> {
    Ok(Priority::from_low_bits(reader.z64()? as u8))
}

#[inline]
fn write_priority(
    priority: Priority,
    chain: &mut Chain,
    writer: &mut Writer<'_>,
) -> Result<(), EncodeError> {
    if priority != Priority::Data {
        chain.number(writer, KEY_QOS, priority as u64)?;
    }
    Ok(())
}

/// Returns a lease in the unit of its header.
fn lease(value: u64, in_seconds: bool) -> Duration {
    if in_seconds {
        Duration::from_secs(value)
    } else {
        Duration::from_millis(value)
    }
}

/// Returns a lease as a number, and true if it counts seconds, which it does when it can.
fn lease_value(lease: Duration) -> (u64, bool) {
    let milliseconds = lease.as_millis();
    if milliseconds.is_multiple_of(1000) {
        (lease.as_secs(), true)
    } else {
        (u64::try_from(milliseconds).unwrap_or(u64::MAX), false)
    }
}
