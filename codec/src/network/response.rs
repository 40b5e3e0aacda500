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
    /// The request's treatment.
    pub qos: Qos,
    /// The hop's time.
    pub timestamp: Option<Timestamp>,
    /// Who answers.
    pub responder: Option<EntityGlobalId>,
    /// Times collected on the way.
    pub ts_stack: Option<TsStack<'a>>,
    /// The answer.
    pub body: ResponseBody<'a>,
}

impl<'a> Response<'a> {
    #[inline(always)]
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let rid = reader.z32()?;
        let wire_expr = WireExpr::read(header, reader)?;
        let mut qos = Qos::DATA;
        let mut timestamp = None;
        let mut responder = None;
        let mut ts_stack = None;
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                Qos::KEY => qos = Qos::read(reader)?,
                Timestamp::KEY => timestamp = Some(Timestamp::read(&mut reader.section_z32()?)?),
                KEY_RESPONDER => {
                    responder = Some(EntityGlobalId::read(&mut reader.section_z32()?)?);
                }
                TsStack::KEY => ts_stack = Some(TsStack::checked(reader.section_z32()?)?),
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(Response {
            rid,
            wire_expr,
            qos,
            timestamp,
            responder,
            ts_stack,
            body: ResponseBody::read(reader)?,
        })
    }
}

impl Encode for Response<'_> {
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
            TsStack::write_extension(&self.ts_stack, &mut chain, writer)?;
            self.body.encode(writer)
        })
    }
}
