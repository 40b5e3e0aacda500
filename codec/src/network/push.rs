// SPDX-License-Identifier: MIT OR Apache-2.0
//! PUSH: a sample on its way to the subscribers, the hot path of the codec.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|M|N|  0x1d   |
//! +-+-+-+---------+
//! | wire expr     |
//! | extensions    | if Z: 0x21 qos, 0x42 timestamp, 0x33 node id, 0x47 time-stamp stack
//! | PUT or DEL    |
//! +---------------+
//! ```

use crate::{
    body::{PushBody, Put},
    error::DecodeError,
    extension::{self, Chain, MORE},
    network::{NodeId, TsStack, id},
    qos::Qos,
    reader::Reader,
    timestamp::Timestamp,
    wire_expr::WireExpr,
    writer::{Encode, EncodeError, Writer},
};

/// A sample on its way to the subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Push<'a> {
    /// The key.
    pub wire_expr: WireExpr<'a>,
    /// Quality of service.
    pub qos: Qos,
    /// The hop's time; the sample's own is in the body.
    pub timestamp: Option<Timestamp>,
    /// The routing context between routers.
    pub node_id: NodeId,
    /// Times collected on the way.
    pub ts_stack: Option<TsStack<'a>>,
    /// The change of the key.
    pub body: PushBody<'a>,
}

impl<'a> Push<'a> {
    /// Creates a sample with default quality of service and no optional field.
    #[inline]
    pub const fn new(wire_expr: WireExpr<'a>, body: PushBody<'a>) -> Self {
        Push {
            wire_expr,
            qos: Qos::DATA,
            timestamp: None,
            node_id: NodeId::ITSELF,
            ts_stack: None,
            body,
        }
    }

    /// Reads a push, and returns also the raw bytes of its body, from the body's header to the
    /// payload's end, which a router copies when it forwards.
    ///
    /// # Errors
    /// If the bytes are not a PUSH; the reader then stands inside it.
    #[inline]
    pub fn decode_with_raw(reader: &mut Reader<'a>) -> Result<(Self, &'a [u8]), DecodeError> {
        let header = reader.u8()?;
        if header & id::MASK != id::PUSH {
            return Err(reader.unknown_id("push", header & id::MASK));
        }
        let mut attempt = *reader;
        if let Some(usual) = Self::read_usual(header, &mut attempt) {
            *reader = attempt;
            return Ok(usual);
        }
        Self::read_any(header, reader)
    }

    /// Reads the form that nearly all pushes have: at most a qos extension, and a PUT with at most
    /// a timestamp. Straight-line code that touches no other part of the message; `None` for all
    /// other forms and for errors.
    #[inline(always)]
    pub(crate) fn read_usual(header: u8, reader: &mut Reader<'a>) -> Option<(Self, &'a [u8])> {
        let wire_expr = WireExpr::read(header, reader).ok()?;
        let mut qos = Qos::DATA;
        if header & MORE != 0 {
            if reader.u8().ok()? != Qos::KEY {
                return None;
            }
            qos = Qos::read(reader).ok()?;
        }
        let mark = *reader;
        let put = Put::read_usual(reader)?;
        let push = Push {
            wire_expr,
            qos,
            timestamp: None,
            node_id: NodeId::ITSELF,
            ts_stack: None,
            body: PushBody::Put(put),
        };
        Some((push, reader.since(mark)))
    }

    #[inline(never)]
    pub(crate) fn read_any(
        header: u8,
        reader: &mut Reader<'a>,
    ) -> Result<(Self, &'a [u8]), DecodeError> {
        let wire_expr = WireExpr::read(header, reader)?;
        // Extensions; unknown ones that are not mandatory are skipped.
        let mut qos = Qos::DATA;
        let mut timestamp = None;
        let mut node_id = NodeId::ITSELF;
        let mut ts_stack = None;
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                Qos::KEY => qos = Qos::read(reader)?,
                Timestamp::KEY => timestamp = Some(reader.whole_section_z32(Timestamp::read)?),
                NodeId::KEY => node_id = NodeId::read(reader)?,
                TsStack::KEY => ts_stack = Some(reader.whole_section_z32(TsStack::checked)?),
                _ => extension::skip(more, reader)?,
            }
        }
        // The raw bytes of the body are kept to be forwarded.
        let mark = *reader;
        let body = PushBody::read(reader)?;
        let push = Push {
            wire_expr,
            qos,
            timestamp,
            node_id,
            ts_stack,
            body,
        };
        Ok((push, reader.since(mark)))
    }

    /// Writes everything before the body, which a publisher prepares once and a router writes anew.
    ///
    /// # Errors
    /// [`EncodeError`] if it does not fit; the position is then unchanged.
    #[inline(always)]
    pub fn encode_head(
        wire_expr: &WireExpr<'_>,
        qos: Qos,
        node_id: NodeId,
        writer: &mut Writer<'_>,
    ) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            writer.u8(id::PUSH | wire_expr.flags())?;
            wire_expr.write(writer)?;
            qos.write(&mut chain, writer)?;
            node_id.write(&mut chain, writer)
        })
    }
}

impl Encode for Push<'_> {
    #[inline]
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        match &self.body {
            PushBody::Put(put) if self.has_usual_extensions() && put.is_plain() => writer
                .all_or_nothing(|writer| {
                    Self::encode_head(&self.wire_expr, self.qos, NodeId::ITSELF, writer)?;
                    put.write_plain(writer)
                }),
            _ => self.encode_any(writer),
        }
    }
}

impl Push<'_> {
    /// Returns true if qos is the only extension that may have to be written.
    #[inline(always)]
    fn has_usual_extensions(&self) -> bool {
        self.is_head_and_body() && self.node_id.is_itself()
    }

    /// Returns true if it entered the mesh at the neighbour, and has no time-stamp stack.
    #[inline(always)]
    pub fn is_direct(&self) -> bool {
        self.node_id.is_itself() & self.ts_stack.is_none()
    }

    /// Returns true if it consists of the fields that [`Push::encode_head`] writes and of a body
    /// only.
    #[inline(always)]
    pub fn is_head_and_body(&self) -> bool {
        self.timestamp.is_none() && self.ts_stack.is_none()
    }

    #[inline(never)]
    fn encode_any(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.write_head(writer)?;
            self.body.encode(writer)
        })
    }

    /// Writes the fields before the body. On an error part of them may have been written.
    pub(crate) fn write_head(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let mut chain = Chain::after(writer.position());
        writer.u8(id::PUSH | self.wire_expr.flags())?;
        self.wire_expr.write(writer)?;
        self.qos.write(&mut chain, writer)?;
        Timestamp::write_extension(&self.timestamp, &mut chain, writer)?;
        self.node_id.write(&mut chain, writer)?;
        TsStack::write_extension(&self.ts_stack, &mut chain, writer)
    }
}
