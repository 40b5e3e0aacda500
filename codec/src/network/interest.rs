// SPDX-License-Identifier: MIT OR Apache-2.0
//! INTEREST: a request for declarations, now and later.
//!
//! ```text
//!  7 6 5 4 3 2 1 0
//! +-+-+-+-+-+-+-+-+
//! |Z|MOD|  0x19   |   MOD: 0 final, 1 current, 2 future, 3 current and future
//! +-+---+---------+
//! | v32 id        |
//! |A|M|N|R|T|Q|S|K| unless final
//! | wire expr     | if R (unless final)
//! | extensions    | if Z: 0x21 qos, 0x42 timestamp, 0x33 node id
//! +---------------+
//! ```

use core::ops::BitOr;

use crate::{
    error::DecodeError,
    extension::{self, Chain, MORE},
    network::{NodeId, id},
    qos::Qos,
    reader::Reader,
    timestamp::Timestamp,
    wire_expr::WireExpr,
    writer::{Encode, EncodeError, Writer},
};

const RESTRICTED: u8 = 0x10;

/// The time of the requested declarations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterestMode {
    /// The end of an interest.
    Final,
    /// Present declarations.
    Current,
    /// Future declarations.
    Future,
    /// Present and future declarations.
    CurrentFuture,
}

/// Kinds of declarations of interest. The restriction to a key and its form are no options but
/// follow from the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct InterestOptions(u8);

impl InterestOptions {
    /// Key expression ids.
    pub const KEYEXPRS: InterestOptions = InterestOptions(0x01);
    /// Subscribers.
    pub const SUBSCRIBERS: InterestOptions = InterestOptions(0x02);
    /// Queryables.
    pub const QUERYABLES: InterestOptions = InterestOptions(0x04);
    /// Liveliness tokens.
    pub const TOKENS: InterestOptions = InterestOptions(0x08);
    /// Flag: one declaration on the interest's own key stands for all.
    pub const AGGREGATE: InterestOptions = InterestOptions(0x80);

    /// Creates the options with these bits; unknown bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        InterestOptions(bits & 0x8f)
    }

    /// Returns the bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns true if it contains all of `other`.
    pub const fn contains(self, other: InterestOptions) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the options without those of `other`.
    #[must_use]
    pub const fn without(self, other: InterestOptions) -> Self {
        InterestOptions(self.0 & !other.0)
    }
}

impl BitOr for InterestOptions {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        InterestOptions(self.0 | other.0)
    }
}

/// A request for declarations. For [`InterestMode::Final`], options and key are not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest<'a> {
    /// The interest's number, repeated by the answers and by its end.
    pub id: u32,
    /// The time of the requested declarations.
    pub mode: InterestMode,
    /// The kinds of declarations.
    pub options: InterestOptions,
    /// The keys; all if `None`.
    pub wire_expr: Option<WireExpr<'a>>,
    /// Quality of service; usually [`Qos::DECLARE`].
    pub qos: Qos,
    /// The hop's time.
    pub timestamp: Option<Timestamp>,
    /// The routing context between routers; 0 elsewhere.
    pub node_id: u16,
}

impl<'a> Interest<'a> {
    /// Returns an interest with the usual quality of service, without a time and a routing context.
    ///
    /// ```
    /// use zonda_codec::{Interest, InterestMode, InterestOptions, WireExpr};
    ///
    /// let key = Some(WireExpr::full("demo/*"));
    /// let interest = Interest::new(1, InterestMode::Future, InterestOptions::TOKENS, key);
    /// assert_eq!(interest.node_id, 0);
    /// ```
    pub fn new(
        id: u32,
        mode: InterestMode,
        options: InterestOptions,
        wire_expr: Option<WireExpr<'a>>,
    ) -> Self {
        Interest {
            id,
            mode,
            options,
            wire_expr,
            qos: Qos::DECLARE,
            timestamp: None,
            node_id: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn read(header: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let id = reader.v32()?;
        let mode = match header >> 5 & 0b11 {
            0 => InterestMode::Final,
            1 => InterestMode::Current,
            2 => InterestMode::Future,
            _ => InterestMode::CurrentFuture,
        };
        let mut interest = Interest {
            id,
            mode,
            options: InterestOptions::default(),
            wire_expr: None,
            qos: Qos::DATA,
            timestamp: None,
            node_id: 0,
        };
        if mode != InterestMode::Final {
            // N and M have the places that WireExpr knows from message headers.
            let options = reader.u8()?;
            interest.options = InterestOptions::from_bits(options);
            if options & RESTRICTED != 0 {
                interest.wire_expr = Some(WireExpr::read(options, reader)?);
            }
        }
        let mut more = header;
        while more & MORE != 0 {
            more = reader.u8()?;
            match more & !MORE {
                Qos::KEY => interest.qos = Qos::read(reader)?,
                Timestamp::KEY => {
                    interest.timestamp = Some(reader.whole_section_z32(Timestamp::read)?);
                }
                NodeId::KEY => interest.node_id = reader.v16()?,
                _ => extension::skip(more, reader)?,
            }
        }
        Ok(interest)
    }
}

impl Encode for Interest<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let mut chain = Chain::after(writer.position());
            writer.u8(id::INTEREST | (self.mode as u8) << 5)?;
            writer.vle(u64::from(self.id))?;
            if self.mode != InterestMode::Final {
                match &self.wire_expr {
                    None => writer.u8(self.options.bits())?,
                    Some(wire_expr) => {
                        writer.u8(self.options.bits() | RESTRICTED | wire_expr.flags())?;
                        wire_expr.write(writer)?;
                    }
                }
            }
            self.qos.write(&mut chain, writer)?;
            Timestamp::write_extension(&self.timestamp, &mut chain, writer)?;
            NodeId::of(self.node_id).write(&mut chain, writer)
        })
    }
}
