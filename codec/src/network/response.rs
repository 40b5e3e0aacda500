// SPDX-License-Identifier: MIT OR Apache-2.0
//! RESPONSE: one answer to a query, on its way back.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|M|N|  0x1b   |
//! +-+-+-+---------+
//! | z32 rid       |
//! | wire expr     |
//! | extensions    | if Z: 0x21 qos, 0x42 timestamp, 0x43 responder, 0x47 time-stamp stack
//! | REPLY or ERR  |
//! +---------------+
//! ```

use crate::{
    body::ResponseBody,
    error::DecodeError,
    extension::{self, Chain, MORE},
    id::EntityGlobalId,
    network::{TsStack, id},
    qos::Qos,
    reader::Reader,
    timestamp::Timestamp,
    wire_expr::WireExpr,
    writer::{Encode, EncodeError, Writer},
};

const KEY_RESPONDER: u8 = 0x43;

/// One answer to a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// The request's number.
    pub rid: u32,
    /// The key of the answer; empty for a timeout.
    pub wire_expr: WireExpr<'a>,
    /// Quality of service of the request.
    pub qos: Qos,
    /// The hop's time.
    pub timestamp: Option<Timestamp>,
    /// The answering entity.
    pub responder: Option<EntityGlobalId>,
    /// Times collected on the way.
    pub ts_stack: Option<TsStack<'a>>,
    /// The answer.
    pub body: ResponseBody<'a>,
}

impl<'a> Response<'a> {
    /// Reads a response, and returns also the raw bytes of its body, which a router forwards.
    ///
    /// # Errors
    /// If the bytes are not a RESPONSE; the reader then stands inside it.
    pub fn decode_with_raw(reader: &mut Reader<'a>) -> Result<(Self, &'a [u8]), DecodeError> {
        let header = reader.u8()?;
        if header & id::MASK != id::RESPONSE {
            return Err(reader.unknown_id("response", header & id::MASK));
        }
        let head = ResponseHead::read(header, reader)?;
        let mark = *reader;
        let body = ResponseBody::read(reader)?;
        Ok((head.with_body(body), reader.since(mark)))
    }

    #[inline(always)]
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let head = ResponseHead::read(header, reader)?;
        Ok(head.with_body(ResponseBody::read(reader)?))
    }
}

/// Everything of a response before its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead<'a> {
    /// The request's number.
    pub rid: u32,
    /// The key of the answer; empty for a timeout.
    pub wire_expr: WireExpr<'a>,
    /// Quality of service of the request.
    pub qos: Qos,
    /// The hop's time.
    pub timestamp: Option<Timestamp>,
    /// The answering entity.
    pub responder: Option<EntityGlobalId>,
    /// Times collected on the way.
    pub ts_stack: Option<TsStack<'a>>,
}

impl<'a> ResponseHead<'a> {
    /// Returns the response with this head and `body`.
    #[inline(always)]
    pub const fn with_body(self, body: ResponseBody<'a>) -> Response<'a> {
        Response {
            rid: self.rid,
            wire_expr: self.wire_expr,
            qos: self.qos,
            timestamp: self.timestamp,
            responder: self.responder,
            ts_stack: self.ts_stack,
            body,
        }
    }

    #[inline(always)]
    fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let rid = reader.z32()?;
        let wire_expr = WireExpr::read(header, reader)?;
        // Extensions; unknown ones that are not mandatory are skipped.
        let mut qos = Qos::DATA;
        let mut timestamp = None;
        let mut responder = None;
        let mut ts_stack = None;
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                Qos::KEY => qos = Qos::read(reader)?,
                Timestamp::KEY => timestamp = Some(reader.whole_section_z32(Timestamp::read)?),
                KEY_RESPONDER => {
                    responder = Some(reader.whole_section_z32(EntityGlobalId::read)?);
                }
                TsStack::KEY => ts_stack = Some(reader.whole_section_z32(TsStack::checked)?),
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(ResponseHead {
            rid,
            wire_expr,
            qos,
            timestamp,
            responder,
            ts_stack,
        })
    }
}

impl Encode for ResponseHead<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            writer.u8(id::RESPONSE | self.wire_expr.flags())?;
            writer.vle(u64::from(self.rid))?;
            self.wire_expr.write(writer)?;
            self.qos.write(&mut chain, writer)?;
            Timestamp::write_extension(&self.timestamp, &mut chain, writer)?;
            if let Some(responder) = &self.responder {
                chain.section(writer, KEY_RESPONDER, responder.len())?;
                responder.write(writer)?;
            }
            TsStack::write_extension(&self.ts_stack, &mut chain, writer)
        })
    }
}

impl Response<'_> {
    /// Returns the fields before the body.
    #[inline]
    pub const fn head(&self) -> ResponseHead<'_> {
        ResponseHead {
            rid: self.rid,
            wire_expr: self.wire_expr,
            qos: self.qos,
            timestamp: self.timestamp,
            responder: self.responder,
            ts_stack: self.ts_stack,
        }
    }
}

impl Encode for Response<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.head().encode(writer)?;
            self.body.encode(writer)
        })
    }
}
