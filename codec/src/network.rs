// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network messages: what nodes route to each other, inside frames.
//!
//! The low five bits of the first byte tell the message, 0x19 to 0x1f; no transport message uses these ids,
//! so a frame ends where the next byte is none of them.

mod declare;
mod interest;
mod oam;
mod push;
mod request;
mod response;
mod response_final;
mod ts_stack;

pub use declare::{Declaration, Declare, QueryableInfo};
pub use interest::{Interest, InterestMode, InterestOptions};
pub use oam::{Oam, OamBody};
pub use push::Push;
pub use request::{Request, Target};
pub use response::Response;
pub use response_final::ResponseFinal;
pub use ts_stack::TsStack;

use crate::{
    error::DecodeError,
    extension::Chain,
    reader::Reader,
    writer::{Encode, NoRoom, Writer},
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

/// The key of the routing context extension.
const KEY_NODE_ID: u8 = 0x33;

#[inline(always)]
fn write_node_id(node_id: u16, chain: &mut Chain, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
    if node_id != 0 {
        chain.number(writer, KEY_NODE_ID, u64::from(node_id))?;
    }
    Ok(())
}

/// Any network message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkMessage<'a> {
    /// A sample for whoever subscribed.
    Push(Push<'a>),
    /// A query.
    Request(Request<'a>),
    /// An answer to a query.
    Response(Response<'a>),
    /// The end of the answers.
    ResponseFinal(ResponseFinal),
    /// A declaration or its end.
    Declare(Declare<'a>),
    /// A wish to hear of declarations.
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
        Ok(match header & id::MASK {
            id::PUSH => NetworkMessage::Push(Push::read(header, reader)?),
            id::REQUEST => NetworkMessage::Request(Request::read(header, reader)?),
            id::RESPONSE => NetworkMessage::Response(Response::read(header, reader)?),
            id::RESPONSE_FINAL => {
                NetworkMessage::ResponseFinal(ResponseFinal::read(header, reader)?)
            }
            id::DECLARE => NetworkMessage::Declare(Declare::read(header, reader)?),
            id::INTEREST => NetworkMessage::Interest(Interest::read(header, reader)?),
            id::OAM => NetworkMessage::Oam(Oam::read(header, reader)?),
            other => return Err(reader.unknown_id("network message", other)),
        })
    }

    /// Whether a message that begins with `byte` is a network message.
    #[inline]
    pub const fn starts(byte: u8) -> bool {
        byte & id::MASK >= id::INTEREST
    }
}

impl Encode for NetworkMessage<'_> {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), NoRoom> {
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
