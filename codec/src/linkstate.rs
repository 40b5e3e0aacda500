// SPDX-License-Identifier: MIT OR Apache-2.0
//! Link states: the nodes' knowledge of each other, in the body of OAM 1.
//!
//! ```text
//! list:   vle count | count x state
//! state:  vle options | vle psid | vle sn
//!         | 0x01: id as bytes | 0x02: u8 role, 1 router 2 peer 4 client | 0x04: locators
//!         | vle n | n x vle psid of a neighbour | 0x08: n x v16 weight
//! options 0x10: the node is a gateway | 0x1000: it marks messages with its trees
//! ```
//! A psid is the number of a node in the sender's own table; the sender itself is 0.

use core::fmt;

use crate::{
    error::DecodeError,
    id::{WhatAmI, ZenohId},
    reader::Reader,
    scouting::Locators,
    writer::{Encode, EncodeError, Writer},
};

const HAS_ID: u64 = 0x01;
const HAS_ROLE: u64 = 0x02;
const HAS_LOCATORS: u64 = 0x04;
const HAS_WEIGHTS: u64 = 0x08;
const IS_GATEWAY: u64 = 0x10;
/// Far from the options of other implementations, which ignore it and do not forward it.
const MARKS_TREES: u64 = 0x1000;
/// The bits of a weight; bits above them are dropped.
const WEIGHT_MASK: u64 = 0xffff;

/// The sender's state of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkState<'a> {
    /// The node's number in the sender's table.
    pub psid: u64,
    /// The count of changes of the node's state; a smaller or equal one is outdated.
    pub sn: u64,
    /// The node; `None` refers to the earlier state of this psid.
    pub zid: Option<ZenohId>,
    /// The role; a router if it is absent.
    pub whatami: Option<WhatAmI>,
    /// The locators of the node.
    pub locators: Option<Locators<'a>>,
    /// The node is a gateway.
    pub is_gateway: bool,
    /// The node marks messages with the trees that they go along while these change, and follows
    /// such marks.
    pub marks_trees: bool,
    /// The psids of its neighbours.
    pub links: Numbers<'a>,
    /// The weights of the links to them, low 16 bits each, in the same order; 0 is unset. Written only if
    /// there are as many as links.
    pub weights: Option<Numbers<'a>>,
}

impl<'a> LinkState<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let options = reader.z64()?;
        let mut state = LinkState {
            psid: reader.z64()?,
            sn: reader.z64()?,
            is_gateway: options & IS_GATEWAY != 0,
            marks_trees: options & MARKS_TREES != 0,
            ..LinkState::default()
        };
        // Optional fields, in the order of their flags.
        if options & HAS_ID != 0 {
            state.zid = Some(ZenohId::read_sized(reader)?);
        }
        if options & HAS_ROLE != 0 {
            let bit = reader.u8()?;
            let role = WhatAmI::from_bit(bit);
            state.whatami = Some(role.ok_or_else(|| reader.invalid("role", u64::from(bit)))?);
        }
        if options & HAS_LOCATORS != 0 {
            state.locators = Some(Locators::read(reader)?);
        }
        // The links, and a weight for each.
        let count = reader.z64()?;
        state.links = Numbers::read(count, reader)?;
        if options & HAS_WEIGHTS != 0 {
            state.weights = Some(Numbers::read(count, reader)?.truncated(WEIGHT_MASK));
        }
        Ok(state)
    }

    fn options(&self) -> u64 {
        let mut options = 0;
        if self.zid.is_some() {
            options |= HAS_ID;
        }
        if self.whatami.is_some() {
            options |= HAS_ROLE;
        }
        if self.locators.is_some() {
            options |= HAS_LOCATORS;
        }
        if self
            .weights
            .is_some_and(|weights| weights.len() == self.links.len())
        {
            options |= HAS_WEIGHTS;
        }
        if self.is_gateway {
            options |= IS_GATEWAY;
        }
        if self.marks_trees {
            options |= MARKS_TREES;
        }
        options
    }
}

impl Encode for LinkState<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            let options = self.options();
            writer.vle(options)?;
            writer.vle(self.psid)?;
            writer.vle(self.sn)?;
            // Optional fields, in the order of their flags.
            if let Some(zid) = &self.zid {
                zid.write_sized(writer)?;
            }
            if let Some(whatami) = self.whatami {
                writer.u8(whatami.bit())?;
            }
            if let Some(locators) = &self.locators {
                locators.write(writer)?;
            }
            // The links, and a weight for each.
            writer.vle(self.links.len() as u64)?;
            for link in self.links.iter() {
                writer.vle(link)?;
            }
            if options & HAS_WEIGHTS != 0 {
                for weight in self.weights.iter().flat_map(Numbers::iter) {
                    writer.vle(weight & WEIGHT_MASK)?;
                }
            }
            Ok(())
        })
    }
}

/// A list of numbers: borrowed from received bytes, or from numbers to be sent.
#[derive(Clone, Copy)]
pub struct Numbers<'a>(List<'a>);

#[derive(Clone, Copy)]
enum List<'a> {
    Wire {
        count: usize,
        mask: u64,
        bytes: &'a [u8],
    },
    Given(&'a [u64]),
}

impl<'a> Numbers<'a> {
    /// Numbers to be sent.
    pub const fn new(numbers: &'a [u64]) -> Self {
        Numbers(List::Given(numbers))
    }

    /// Returns the number of numbers.
    pub const fn len(&self) -> usize {
        match self.0 {
            List::Wire { count, .. } => count,
            List::Given(numbers) => numbers.len(),
        }
    }

    /// Returns true if there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers.
    pub fn iter(&self) -> impl Iterator<Item = u64> + use<'a> {
        let (bytes, mask, numbers): (&[u8], u64, &[u64]) = match self.0 {
            List::Wire { bytes, mask, .. } => (bytes, mask, &[]),
            List::Given(numbers) => (&[], 0, numbers),
        };
        let mut reader = Reader::new(bytes);
        let received = core::iter::from_fn(move || Some(reader.z64().ok()? & mask));
        received.chain(numbers.iter().copied())
    }

    /// Returns the received numbers, of which only the bits of `mask` count.
    fn truncated(self, mask: u64) -> Self {
        match self.0 {
            List::Wire { count, bytes, .. } => Numbers(List::Wire { count, mask, bytes }),
            List::Given(_) => self,
        }
    }

    /// Reads numbers. Each takes at least a byte, so a count that is too large ends with the input.
    fn read(announced: u64, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let start = *reader;
        let mut count = 0;
        while (count as u64) < announced {
            reader.z64()?;
            count += 1;
        }
        Ok(Numbers(List::Wire {
            count,
            mask: u64::MAX,
            bytes: reader.since(start),
        }))
    }
}

impl Default for Numbers<'_> {
    fn default() -> Self {
        Numbers::new(&[])
    }
}

impl PartialEq for Numbers<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Numbers<'_> {}

impl fmt::Debug for Numbers<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

/// The link states of one OAM body, checked as a whole when it is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkStateList<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl<'a> LinkStateList<'a> {
    /// Reads a list and checks every state in it.
    ///
    /// # Errors
    /// If the bytes are not a list of link states.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let announced = reader.z64()?;
        let start = *reader;
        let mut count = 0;
        while (count as u64) < announced {
            LinkState::read(reader)?;
            count += 1;
        }
        Ok(LinkStateList {
            count,
            bytes: reader.since(start),
        })
    }

    /// Returns the number of states.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the states in the order sent.
    pub fn iter(&self) -> impl Iterator<Item = LinkState<'a>> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        core::iter::from_fn(move || LinkState::read(&mut reader).ok())
    }
}

/// Link states to be sent as the body of one OAM message.
#[derive(Debug, Clone, Copy)]
pub struct LinkStates<'s, 'a>(pub &'s [LinkState<'a>]);

impl Encode for LinkStates<'_, '_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.all_or_nothing(|writer| {
            writer.vle(self.0.len() as u64)?;
            self.0.iter().try_for_each(|state| state.encode(writer))
        })
    }
}
