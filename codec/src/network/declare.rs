// SPDX-License-Identifier: MIT OR Apache-2.0
//! DECLARE: entities and interests of a node, announced to its neighbours.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|X|I|  0x1e   |
//! +-+-+-+---------+
//! | v32 interest  | if I: answers that interest
//! | extensions    | if Z: 0x21 qos, 0x42 timestamp, 0x33 node id
//! +-+-+-+-+-+-+-+-+
//! |Z|M|N|   id    | the declaration's own header
//! +-+-+-+---------+
//! | fields        | 0x00 D_KEYEXPR     N   v16 id, wire expr
//! |               | 0x01 U_KEYEXPR         v16 id
//! |               | 0x02 D_SUBSCRIBER  N M v32 id, wire expr
//! |               | 0x03 U_SUBSCRIBER      v32 id
//! |               | 0x04 D_QUERYABLE   N M v32 id, wire expr
//! |               | 0x05 U_QUERYABLE       v32 id
//! |               | 0x06 D_TOKEN       N M v32 id, wire expr
//! |               | 0x07 U_TOKEN           v32 id
//! |               | 0x1a D_FINAL           nothing
//! | extensions    | if Z: D_QUERYABLE 0x21 info (bit 0 complete, bits 8-23 distance);
//! |               |       U_SUBSCRIBER, U_QUERYABLE, U_TOKEN 0x5f key (u8 flags: bit 0 N, bit 1 M;
//! |               |       z16 scope; the rest is the suffix)
//! +---------------+
//! ```

use crate::{
    error::DecodeError,
    extension::{self, Chain, MORE},
    network::{NodeId, id},
    qos::Qos,
    reader::Reader,
    timestamp::Timestamp,
    wire_expr::{Mapping, WireExpr},
    writer::{Encode, EncodeError, Writer, vle_len},
};

const FLAG_INTEREST: u8 = 0x20;
const KEY_INFO: u8 = 0x21;
const KEY_WIRE_EXPR: u8 = 0x5f;

const D_KEYEXPR: u8 = 0x00;
const U_KEYEXPR: u8 = 0x01;
const D_SUBSCRIBER: u8 = 0x02;
const U_SUBSCRIBER: u8 = 0x03;
const D_QUERYABLE: u8 = 0x04;
const U_QUERYABLE: u8 = 0x05;
const D_TOKEN: u8 = 0x06;
const U_TOKEN: u8 = 0x07;
const D_FINAL: u8 = 0x1a;

/// Properties of a queryable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct QueryableInfo {
    /// Set if the queryable knows everything about its key.
    pub complete: bool,
    /// Hops to the queryable.
    pub distance: u16,
}

/// One declaration or its end.
///
/// The `key` of an end is only needed where ids are not used (between routers); `None` is the null form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declaration<'a> {
    /// A declaration of `id`, which stands for the key from now on. Declare with scope 0 and the
    /// full text.
    KeyExpr {
        /// The id, 1 to 65535.
        id: u16,
        /// The key; its mapping is not on the wire and reads as the sender's.
        wire_expr: WireExpr<'a>,
    },
    /// The end of `id`, which stands for nothing any more.
    UndeclareKeyExpr {
        /// The id.
        id: u16,
    },
    /// A subscriber.
    Subscriber {
        /// The number on this face.
        id: u32,
        /// The key it subscribes to.
        wire_expr: WireExpr<'a>,
    },
    /// The end of a subscriber.
    UndeclareSubscriber {
        /// The number on this face.
        id: u32,
        /// The key it subscribed to.
        key: Option<WireExpr<'a>>,
    },
    /// A queryable.
    Queryable {
        /// The number on this face.
        id: u32,
        /// The key it answers for.
        wire_expr: WireExpr<'a>,
        /// The properties of the queryable.
        info: QueryableInfo,
    },
    /// The end of a queryable.
    UndeclareQueryable {
        /// The number on this face.
        id: u32,
        /// The key it answered for.
        key: Option<WireExpr<'a>>,
    },
    /// A liveliness token.
    Token {
        /// The number on this face.
        id: u32,
        /// The key.
        wire_expr: WireExpr<'a>,
    },
    /// The end of a liveliness token.
    UndeclareToken {
        /// The number on this face.
        id: u32,
        /// The key.
        key: Option<WireExpr<'a>>,
    },
    /// All current declarations of an interest have been sent.
    Final,
}

/// A declaration with its header fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declare<'a> {
    /// The interest that is answered.
    pub interest_id: Option<u32>,
    /// Quality of service; usually [`Qos::DECLARE`].
    pub qos: Qos,
    /// The hop's time.
    pub timestamp: Option<Timestamp>,
    /// The routing context between routers; 0 elsewhere.
    pub node_id: u16,
    /// The declaration.
    pub body: Declaration<'a>,
}

impl<'a> Declare<'a> {
    /// Creates a declaration with the usual quality of service that answers no interest.
    pub const fn new(body: Declaration<'a>) -> Self {
        Declare {
            interest_id: None,
            qos: Qos::DECLARE,
            timestamp: None,
            node_id: 0,
            body,
        }
    }

    #[inline(always)]
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut interest_id = None;
        if header & FLAG_INTEREST != 0 {
            interest_id = Some(reader.v32()?);
        }
        // Extensions, then the declaration itself.
        let mut qos = Qos::DATA;
        let mut timestamp = None;
        let mut node_id = 0;
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                Qos::KEY => qos = Qos::read(reader)?,
                Timestamp::KEY => timestamp = Some(reader.whole_section_z32(Timestamp::read)?),
                NodeId::KEY => node_id = reader.v16()?,
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(Declare {
            interest_id,
            qos,
            timestamp,
            node_id,
            body: Declaration::read(reader)?,
        })
    }
}

impl Encode for Declare<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            match self.interest_id {
                None => writer.u8(id::DECLARE)?,
                Some(interest_id) => {
                    writer.u8(id::DECLARE | FLAG_INTEREST)?;
                    writer.vle(u64::from(interest_id))?;
                }
            }
            self.qos.write(&mut chain, writer)?;
            Timestamp::write_extension(&self.timestamp, &mut chain, writer)?;
            NodeId::of(self.node_id).write(&mut chain, writer)?;
            self.body.write(writer)
        })
    }
}

impl<'a> Declaration<'a> {
    #[inline(always)]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let header = reader.u8()?;
        match header & id::MASK {
            D_KEYEXPR => {
                let id = reader.v16()?;
                let mut wire_expr = WireExpr::read(header, reader)?;
                // The key goes by the sender's ids, whatever the flag in the header.
                wire_expr.mapping = Mapping::Sender;
                extension::skip_chain(header, reader)?;
                Ok(Declaration::KeyExpr { id, wire_expr })
            }
            U_KEYEXPR => {
                let id = reader.v16()?;
                extension::skip_chain(header, reader)?;
                Ok(Declaration::UndeclareKeyExpr { id })
            }
            D_SUBSCRIBER => {
                let (id, wire_expr) = read_entity(header, reader)?;
                extension::skip_chain(header, reader)?;
                Ok(Declaration::Subscriber { id, wire_expr })
            }
            U_SUBSCRIBER => {
                let (id, key) = read_end(header, reader)?;
                Ok(Declaration::UndeclareSubscriber { id, key })
            }
            D_QUERYABLE => {
                let (id, wire_expr) = read_entity(header, reader)?;
                let info = QueryableInfo::read(header, reader)?;
                Ok(Declaration::Queryable {
                    id,
                    wire_expr,
                    info,
                })
            }
            U_QUERYABLE => {
                let (id, key) = read_end(header, reader)?;
                Ok(Declaration::UndeclareQueryable { id, key })
            }
            D_TOKEN => {
                let (id, wire_expr) = read_entity(header, reader)?;
                extension::skip_chain(header, reader)?;
                Ok(Declaration::Token { id, wire_expr })
            }
            U_TOKEN => {
                let (id, key) = read_end(header, reader)?;
                Ok(Declaration::UndeclareToken { id, key })
            }
            D_FINAL => {
                extension::skip_chain(header, reader)?;
                Ok(Declaration::Final)
            }
            other => Err(reader.unknown_id("declaration", other)),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        // Undeclarations of queryables and tokens always have a key, that of a subscriber only if
        // it is given.
        match self {
            Declaration::KeyExpr { id, wire_expr } => {
                let suffix = wire_expr.flags() & crate::wire_expr::FLAG_SUFFIX;
                writer.u8(D_KEYEXPR | suffix)?;
                writer.vle(u64::from(*id))?;
                wire_expr.write(writer)
            }
            Declaration::UndeclareKeyExpr { id } => {
                writer.u8(U_KEYEXPR)?;
                writer.vle(u64::from(*id))
            }
            Declaration::Subscriber { id, wire_expr } => {
                write_entity(D_SUBSCRIBER, *id, wire_expr, writer)
            }
            Declaration::UndeclareSubscriber { id, key } => {
                let mut chain = write_end(U_SUBSCRIBER, *id, writer)?;
                match key {
                    None => Ok(()),
                    Some(key) => write_key(key, &mut chain, writer),
                }
            }
            Declaration::Queryable {
                id,
                wire_expr,
                info,
            } => {
                let mut chain = Chain::after(writer.position());
                write_entity(D_QUERYABLE, *id, wire_expr, writer)?;
                info.write(&mut chain, writer)
            }
            Declaration::UndeclareQueryable { id, key } => {
                let mut chain = write_end(U_QUERYABLE, *id, writer)?;
                write_key(&key.unwrap_or_default(), &mut chain, writer)
            }
            Declaration::Token { id, wire_expr } => write_entity(D_TOKEN, *id, wire_expr, writer),
            Declaration::UndeclareToken { id, key } => {
                let mut chain = write_end(U_TOKEN, *id, writer)?;
                write_key(&key.unwrap_or_default(), &mut chain, writer)
            }
            Declaration::Final => writer.u8(D_FINAL),
        }
    }
}

impl QueryableInfo {
    fn read(header: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut info = QueryableInfo::default();
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            if more & !MORE == KEY_INFO {
                let bits = reader.z64()?;
                info.complete = bits & 1 != 0;
                info.distance = (bits >> 8) as u16;
            } else {
                extension::skip(more, reader)?;
            }
        }
        Ok(info)
    }

    fn write(&self, chain: &mut Chain, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        if *self == QueryableInfo::default() {
            return Ok(());
        }
        let bits = u64::from(self.distance) << 8 | u64::from(self.complete);
        chain.number(writer, KEY_INFO, bits)
    }
}

#[inline]
fn read_entity<'a>(
    header: u8,
    reader: &mut Reader<'a>,
) -> Result<(u32, WireExpr<'a>), DecodeError> {
    Ok((reader.v32()?, WireExpr::read(header, reader)?))
}

fn write_entity(
    header: u8,
    id: u32,
    wire_expr: &WireExpr<'_>,
    writer: &mut Writer<'_>,
) -> Result<(), EncodeError> {
    writer.u8(header | wire_expr.flags())?;
    writer.vle(u64::from(id))?;
    wire_expr.write(writer)
}

/// Reads the end of an entity: its id and, in an extension, its key.
fn read_end<'a>(
    header: u8,
    reader: &mut Reader<'a>,
) -> Result<(u32, Option<WireExpr<'a>>), DecodeError> {
    let id = reader.v32()?;
    let mut key = WireExpr::default();
    let mut more = header;
    while more & MORE != 0 {
        more = reader.u8()?;
        if more & !MORE == KEY_WIRE_EXPR {
            key = read_key(reader.section_z32()?)?;
        } else {
            extension::skip(more, reader)?;
        }
    }
    Ok((id, Some(key).filter(|key| *key != WireExpr::default())))
}

fn write_end(header: u8, id: u32, writer: &mut Writer<'_>) -> Result<Chain, EncodeError> {
    let chain = Chain::after(writer.position());
    writer.u8(header)?;
    writer.vle(u64::from(id))?;
    Ok(chain)
}

const KEY_SUFFIX: u8 = 0x01;
const KEY_SENDER: u8 = 0x02;

fn read_key(mut section: Reader<'_>) -> Result<WireExpr<'_>, DecodeError> {
    let flags = section.u8()?;
    Ok(WireExpr {
        scope: section.z16()?,
        suffix: if flags & KEY_SUFFIX != 0 {
            section.str_rest()?
        } else {
            ""
        },
        mapping: if flags & KEY_SENDER != 0 {
            Mapping::Sender
        } else {
            Mapping::Receiver
        },
    })
}

fn write_key(
    key: &WireExpr<'_>,
    chain: &mut Chain,
    writer: &mut Writer<'_>,
) -> Result<(), EncodeError> {
    let mut flags = 0;
    if !key.suffix.is_empty() {
        flags |= KEY_SUFFIX;
    }
    if key.mapping == Mapping::Sender {
        flags |= KEY_SENDER;
    }
    let scope = u64::from(key.scope);
    chain.section(writer, KEY_WIRE_EXPR, 1 + vle_len(scope) + key.suffix.len())?;
    writer.u8(flags)?;
    writer.vle(scope)?;
    writer.bytes(key.suffix.as_bytes())
}
