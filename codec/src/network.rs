// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network messages, which nodes route to each other, inside frames.
//!
//! The low five bits of the first byte determine the message, 0x19 to 0x1f; no transport message
//! uses these ids, so a frame ends where the next byte is none of them.

mod declare;
mod head;
mod interest;
mod node_id;
mod oam;
mod push;
mod request;
mod response;
mod response_final;
mod run;
mod ts_stack;

pub use declare::{Declaration, Declare, QueryableInfo};
pub use head::{
    Copied, HeadBlock, HeaderTemplate, NewHead, NumberedFront, NumberedHead, PassedHead,
    PreparedHead, PushHead, ShortHead, StackedHead,
};
pub use interest::{Interest, InterestMode, InterestOptions};
pub use node_id::NodeId;
pub use oam::{Oam, OamBody};
pub use push::Push;
pub use request::{Request, Target};
pub use response::{Response, ResponseHead};
pub use response_final::ResponseFinal;
pub use run::{PushRun, RunItem};
pub use ts_stack::{TsStack, TsStackBuf};

use crate::{
    error::DecodeError,
    reader::Reader,
    writer::{Encode, EncodeError, Writer},
};

/// The ids in the low five bits of a network message's header.
pub mod id {
    /// The bits of the id.
    pub const MASK: u8 = 0x1f;
    /// INTEREST.
    pub const INTEREST: u8 = 0x19;
    /// RESPONSE_FINAL.
    pub const RESPONSE_FINAL: u8 = 0x1a;
    /// RESPONSE.
    pub const RESPONSE: u8 = 0x1b;
    /// REQUEST.
    pub const REQUEST: u8 = 0x1c;
    /// PUSH.
    pub const PUSH: u8 = 0x1d;
    /// DECLARE.
    pub const DECLARE: u8 = 0x1e;
    /// OAM.
    pub const OAM: u8 = 0x1f;
}

/// Any network message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkMessage<'a> {
    /// A sample for subscribers.
    Push(Push<'a>),
    /// A query.
    Request(Request<'a>),
    /// An answer to a query.
    Response(Response<'a>),
    /// The end of the answers.
    ResponseFinal(ResponseFinal),
    /// A declaration or its end.
    Declare(Declare<'a>),
    /// An interest in declarations.
    Interest(Interest<'a>),
    /// Operation, administration, maintenance.
    Oam(Oam<'a>),
}

impl<'a> NetworkMessage<'a> {
    /// Reads one message and stops behind it.
    ///
    /// # Errors
    /// If the bytes are not a network message; the reader then stands inside it.
    #[inline]
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let header = reader.u8()?;
        if header & id::MASK == id::PUSH {
            let mut attempt = *reader;
            if let Some((push, _)) = Push::read_usual(header, &mut attempt) {
                *reader = attempt;
                return Ok(NetworkMessage::Push(push));
            }
        }
        Self::decode_any(header, reader)
    }

    /// Reads any message but the usual push; a separate function keeps that path short.
    #[inline(never)]
    fn decode_any(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match header & id::MASK {
            id::PUSH => read_as(header, reader, Push::read_any, |(push, _)| Self::Push(push)),
            id::REQUEST => read_as(header, reader, Request::read, Self::Request),
            id::RESPONSE => read_as(header, reader, Response::read, Self::Response),
            id::RESPONSE_FINAL => read_as(header, reader, ResponseFinal::read, Self::ResponseFinal),
            id::DECLARE => read_as(header, reader, Declare::read, Self::Declare),
            id::INTEREST => read_as(header, reader, Interest::read, Self::Interest),
            id::OAM => read_as(header, reader, Oam::read, Self::Oam),
            other => Err(reader.unknown_id("network message", other)),
        }
    }

    /// Returns true if a message that begins with `byte` is a network message.
    #[inline]
    pub const fn starts(byte: u8) -> bool {
        byte & id::MASK >= id::INTEREST
    }
}

/// Reads one kind of message: a function for each, in which the message is built where it is
/// returned.
#[inline(never)]
fn read_as<'a, T>(
    header: u8,
    reader: &mut Reader<'a>,
    read: impl FnOnce(u8, &mut Reader<'a>) -> Result<T, DecodeError>,
    wrap: impl FnOnce(T) -> NetworkMessage<'a>,
) -> Result<NetworkMessage<'a>, DecodeError> {
    let mut attempt = *reader;
    let result = read(header, &mut attempt);
    *reader = attempt;
    Ok(wrap(result?))
}

impl Encode for NetworkMessage<'_> {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            NetworkMessage::Push(message) => message.encode(writer),
            other => other.encode_any(writer),
        }
    }
}

impl NetworkMessage<'_> {
    /// Writes any message but a push; a separate function keeps that path short.
    #[inline(never)]
    fn encode_any(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            NetworkMessage::Push(message) => message.encode(writer),
            NetworkMessage::Request(message) => message.encode(writer),
            NetworkMessage::Response(message) => message.encode(writer),
            NetworkMessage::ResponseFinal(message) => message.encode(writer),
            NetworkMessage::Declare(message) => message.encode(writer),
            NetworkMessage::Interest(message) => message.encode(writer),
            NetworkMessage::Oam(message) => message.encode(writer),
        }
    }
}
