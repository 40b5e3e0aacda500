// SPDX-License-Identifier: MIT OR Apache-2.0
//! CLOSE: the end of a link or of the whole connection.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|X|S|  0x03   |   S: the whole connection, else this link
//! +-+-+-+---------+
//! | u8 reason     |
//! | extensions    | if Z: none defined
//! +---------------+
//! ```

use crate::{
    error::DecodeError,
    extension,
    reader::Reader,
    transport::id,
    writer::{Encode, EncodeError, Writer},
};

/// Reasons of the end of a connection.
pub mod reason {
    /// No particular reason; a user's close.
    pub const GENERIC: u8 = 0;
    /// A requested feature is not supported.
    pub const UNSUPPORTED: u8 = 1;
    /// The peer broke the protocol.
    pub const INVALID: u8 = 2;
    /// Too many connections.
    pub const MAX_SESSIONS: u8 = 3;
    /// Too many links of one connection.
    pub const MAX_LINKS: u8 = 4;
    /// The lease ran out.
    pub const EXPIRED: u8 = 5;
    /// The peer does not answer.
    pub const UNRESPONSIVE: u8 = 6;
    /// The peer is this node.
    pub const CONNECTION_TO_SELF: u8 = 7;
}

const FLAG_SESSION: u8 = 0x20;

/// The end of a link or of the whole connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Close {
    /// The reason; see [`reason`].
    pub reason: u8,
    /// Set if all links of the connection end, not this one alone.
    pub session: bool,
}

impl Close {
    pub(crate) fn read(header: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let reason = reader.u8()?;
        extension::skip_chain(header, reader)?;
        Ok(Close {
            reason,
            session: header & FLAG_SESSION != 0,
        })
    }
}

impl Encode for Close {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let session = if self.session { FLAG_SESSION } else { 0 };
        writer.bytes(&[id::CLOSE | session, self.reason])
    }
}
