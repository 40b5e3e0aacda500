// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scouting: finding nodes by datagrams, one message each.

mod hello;
mod locators;
mod scout;

pub use hello::Hello;
pub use locators::Locators;
pub use scout::Scout;

use crate::{
    error::DecodeError,
    reader::Reader,
    writer::{Encode, EncodeError, Writer},
};

const ID_MASK: u8 = 0x1f;
const ID_SCOUT: u8 = 0x01;
const ID_HELLO: u8 = 0x02;

/// Any scouting message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoutingMessage<'a> {
    /// A search for nodes.
    Scout(Scout),
    /// A node's answer.
    Hello(Hello<'a>),
}

impl<'a> ScoutingMessage<'a> {
    /// Reads one message. Its extensions are ignored, mandatory ones as well.
    ///
    /// # Errors
    /// If the bytes are not a scouting message.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let header = reader.u8()?;
        match header & ID_MASK {
            ID_SCOUT => Ok(ScoutingMessage::Scout(Scout::read(header, reader)?)),
            ID_HELLO => Ok(ScoutingMessage::Hello(Hello::read(header, reader)?)),
            other => Err(reader.unknown_id("scouting message", other)),
        }
    }
}

impl Encode for ScoutingMessage<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            ScoutingMessage::Scout(message) => message.encode(writer),
            ScoutingMessage::Hello(message) => message.encode(writer),
        }
    }
}
