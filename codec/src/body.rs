// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data of users inside network messages: puts, deletions, queries and replies.

mod del;
mod err;
pub(crate) mod put;
pub(crate) mod query;
pub(crate) mod reply;
pub(crate) mod shared;

pub use del::Del;
pub use err::ErrBody;
pub use put::Put;
pub(crate) use put::splice_timestamp;
pub use query::{Query, QueryBody};
pub use reply::Reply;

use crate::{
    error::DecodeError,
    extension::Chain,
    id::SourceInfo,
    reader::Reader,
    writer::{Encode, EncodeError, Writer},
};

/// The ids in the low five bits of a body's header.
pub(crate) mod id {
    pub(crate) const MASK: u8 = 0x1f;
    pub(crate) const PUT: u8 = 0x01;
    pub(crate) const DEL: u8 = 0x02;
    pub(crate) const QUERY: u8 = 0x03;
    pub(crate) const REPLY: u8 = 0x04;
    pub(crate) const ERR: u8 = 0x05;
}

/// The key of the source info extension, the same in every body.
const KEY_SOURCE_INFO: u8 = 0x41;

#[inline(always)]
fn write_source_info(
    source_info: &Option<SourceInfo>,
    chain: &mut Chain,
    writer: &mut Writer<'_>,
) -> Result<(), EncodeError> {
    if let Some(source_info) = source_info {
        chain.section(writer, KEY_SOURCE_INFO, source_info.len())?;
        source_info.write(writer)?;
    }
    Ok(())
}

/// The change of a key by a push or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushBody<'a> {
    /// A put of a value.
    Put(Put<'a>),
    /// A deletion of the value.
    Del(Del<'a>),
}

impl<'a> PushBody<'a> {
    #[inline(always)]
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let header = reader.u8()?;
        match header & id::MASK {
            id::PUT => Ok(PushBody::Put(Put::read(header, reader)?)),
            id::DEL => Ok(PushBody::Del(Del::read(header, reader)?)),
            other => Err(reader.unknown_id("push body", other)),
        }
    }

    /// Writes everything up to and including the length of a payload of `payload_len` bytes, which the caller appends. A
    /// body that deletes is written as a whole.
    #[inline(always)]
    pub(crate) fn encode_head(
        &self,
        payload_len: usize,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        match self {
            PushBody::Put(put) => put.encode_head(payload_len, writer),
            PushBody::Del(del) => del.encode(writer),
        }
    }
}

impl Encode for PushBody<'_> {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            PushBody::Put(put) => put.encode(writer),
            PushBody::Del(del) => del.encode(writer),
        }
    }
}

/// The content of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseBody<'a> {
    /// A put or a deletion.
    Reply(Reply<'a>),
    /// An error.
    Err(ErrBody<'a>),
}

impl<'a> ResponseBody<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let header = reader.u8()?;
        match header & id::MASK {
            id::REPLY => Ok(ResponseBody::Reply(Reply::read(header, reader)?)),
            id::ERR => Ok(ResponseBody::Err(ErrBody::read(header, reader)?)),
            other => Err(reader.unknown_id("response body", other)),
        }
    }
}

impl Encode for ResponseBody<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            ResponseBody::Reply(reply) => reply.encode(writer),
            ResponseBody::Err(err) => err.encode(writer),
        }
    }
}

/// The merge of the replies of several sources that a querier wants. Routers only pass it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Consolidation {
    /// The querier's library decides; the default, which is never written.
    #[default]
    Auto,
    /// Every reply.
    None,
    /// Every reply that is newer than the last one delivered for its key.
    Monotonic,
    /// The newest reply per key, at the end.
    Latest,
}

impl Consolidation {
    /// Default of a querier.
    pub const DEFAULT: Consolidation = Consolidation::Auto;

    /// Reads the mode. Numbers without meaning read as `Auto`, as the reference reads them.
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match reader.z64()? {
            1 => Consolidation::None,
            2 => Consolidation::Monotonic,
            3 => Consolidation::Latest,
            _ => Consolidation::Auto,
        })
    }

    /// Returns `flag` if the field is written at all.
    fn flag(self, flag: u8) -> u8 {
        if self == Consolidation::Auto { 0 } else { flag }
    }

    fn write(self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            Consolidation::Auto => Ok(()),
            other => writer.u8(other as u8),
        }
    }
}
