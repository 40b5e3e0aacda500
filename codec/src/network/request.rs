// SPDX-License-Identifier: MIT OR Apache-2.0
//! REQUEST: a query on its way to the queryables.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|M|N|  0x1c   |
//! +-+-+-+---------+
//! | z32 rid       |
//! | wire expr     |
//! | extensions    | if Z: 0x21 qos, 0x42 timestamp, 0x34 target, 0x25 budget, 0x26 timeout,
//! |               |       0x33 node id, 0x47 time-stamp stack,
//! |               |       0x0f wants losses (this implementation alone; another one passes over it)
//! | QUERY         |
//! +---------------+
//! ```

use core::time::Duration;

use crate::{
    body::Query,
    error::DecodeError,
    extension::{self, Chain, MORE},
    network::{NodeId, TsStack, id},
    qos::Qos,
    reader::Reader,
    timestamp::Timestamp,
    wire_expr::WireExpr,
    writer::{Encode, EncodeError, Writer},
};

const KEY_TARGET: u8 = 0x34;
const KEY_BUDGET: u8 = 0x25;
const KEY_TIMEOUT: u8 = 0x26;
const KEY_HEARS_OF_LOSSES: u8 = 0x0f;

/// Queryables that get a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Target {
    /// The nearest complete one, else all; the default, which is never written.
    #[default]
    BestMatching,
    /// All that match.
    All,
    /// All complete ones.
    AllComplete,
}

impl Target {
    /// The target of a querier that names none.
    pub const DEFAULT: Target = Target::BestMatching;
}

/// A query on its way to the queryables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The number that responses repeat; unique per face and direction.
    pub rid: u32,
    /// The keys of the query.
    pub wire_expr: WireExpr<'a>,
    /// Quality of service; usually [`Qos::REQUEST`].
    pub qos: Qos,
    /// The hop's time.
    pub timestamp: Option<Timestamp>,
    /// The routing context between routers.
    pub node_id: NodeId,
    /// Queryables that get it.
    pub target: Target,
    /// The limit of replies, at least 1; `None` for all.
    pub budget: Option<u32>,
    /// The time that the querier waits, in whole milliseconds; `None` for the default of 10 s.
    pub timeout: Option<Duration>,
    /// Times collected on the way.
    pub ts_stack: Option<TsStack<'a>>,
    /// Set if the querier understands an error reply that stands for the replies of a node whose
    /// link was lost.
    pub hears_of_losses: bool,
    /// The query.
    pub body: Query<'a>,
}

impl<'a> Request<'a> {
    /// Creates a query with the usual quality of service and defaults elsewhere.
    pub const fn new(rid: u32, wire_expr: WireExpr<'a>, body: Query<'a>) -> Self {
        Request {
            rid,
            wire_expr,
            qos: Qos::REQUEST,
            timestamp: None,
            node_id: NodeId::ITSELF,
            target: Target::BestMatching,
            budget: None,
            timeout: None,
            ts_stack: None,
            hears_of_losses: false,
            body,
        }
    }

    /// Reads a request, and returns also the raw bytes of its body, which a router forwards.
    ///
    /// # Errors
    /// If the bytes are not a REQUEST; the reader then stands inside it.
    pub fn decode_with_raw(reader: &mut Reader<'a>) -> Result<(Self, &'a [u8]), DecodeError> {
        let header = reader.u8()?;
        if header & id::MASK != id::REQUEST {
            return Err(reader.unknown_id("request", header & id::MASK));
        }
        let mut request = Self::read_head(header, reader)?;
        let mark = *reader;
        request.body = Query::read(reader)?;
        Ok((request, reader.since(mark)))
    }

    /// Writes everything before the body.
    ///
    /// # Errors
    /// [`EncodeError`] if it does not fit; the position is then unchanged.
    pub fn encode_head(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| self.write_head(writer))
    }

    #[inline(always)]
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut request = Self::read_head(header, reader)?;
        request.body = Query::read(reader)?;
        Ok(request)
    }

    #[inline(always)]
    fn read_head(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let rid = reader.z32()?;
        let wire_expr = WireExpr::read(header, reader)?;
        let mut request = Request::new(rid, wire_expr, Query::default());
        request.qos = Qos::DATA;
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            request.read_extension(more, reader)?;
        }
        Ok(request)
    }

    #[inline(always)]
    fn read_extension(&mut self, header: u8, reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        match header & !MORE {
            Qos::KEY => self.qos = Qos::read(reader)?,
            Timestamp::KEY => self.timestamp = Some(reader.whole_section_z32(Timestamp::read)?),
            KEY_TARGET => {
                self.target = match reader.z64()? {
                    0 => Target::BestMatching,
                    1 => Target::All,
                    2 => Target::AllComplete,
                    other => return Err(reader.invalid("query target", other)),
                };
            }
            KEY_BUDGET => self.budget = Some(reader.v32()?).filter(|budget| *budget != 0),
            KEY_TIMEOUT => self.timeout = Some(Duration::from_millis(reader.z64()?)),
            NodeId::KEY => self.node_id = NodeId::read(reader)?,
            TsStack::KEY => self.ts_stack = Some(reader.whole_section_z32(TsStack::checked)?),
            KEY_HEARS_OF_LOSSES => self.hears_of_losses = true,
            _ => extension::skip(header, reader)?,
        }
        Ok(())
    }

    fn write_head(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        let mut chain = Chain::after(writer.position());
        writer.u8(id::REQUEST | self.wire_expr.flags())?;
        writer.vle(u64::from(self.rid))?;
        self.wire_expr.write(writer)?;
        self.qos.write(&mut chain, writer)?;
        Timestamp::write_extension(&self.timestamp, &mut chain, writer)?;
        if self.target != Target::BestMatching {
            chain.number(writer, KEY_TARGET, self.target as u64)?;
        }
        if let Some(budget) = self.budget.filter(|budget| *budget != 0) {
            chain.number(writer, KEY_BUDGET, u64::from(budget))?;
        }
        if let Some(timeout) = self.timeout {
            let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
            chain.number(writer, KEY_TIMEOUT, milliseconds)?;
        }
        self.node_id.write(&mut chain, writer)?;
        TsStack::write_extension(&self.ts_stack, &mut chain, writer)?;
        match self.hears_of_losses {
            true => chain.unit(writer, KEY_HEARS_OF_LOSSES),
            false => Ok(()),
        }
    }
}

impl Encode for Request<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            self.write_head(writer)?;
            self.body.encode(writer)
        })
    }
}
