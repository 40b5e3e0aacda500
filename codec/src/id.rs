// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ids of nodes and of entities within them, and the roles of nodes.

use core::{fmt, hash::BuildHasher, num::NonZeroU8, ops::BitOr, str::FromStr};
use std::hash::RandomState;

use crate::{
    error::DecodeError,
    reader::Reader,
    writer::{EncodeError, Writer, vle_len},
};

/// A node id was not a number of 1 to 16 bytes other than zero.
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// All bytes are zero, or there are none.
    #[error("id is zero")]
    Zero,
    /// More than 16 bytes or 32 digits.
    #[error("id of {length} bytes or digits exceeds 16 bytes")]
    TooLong {
        /// The bytes or digits given.
        length: usize,
    },
    /// A character is not a hexadecimal digit.
    #[error("id holds {character:?}, which is not a hexadecimal digit")]
    NotHex {
        /// The first such character.
        character: char,
    },
    /// The role is none of `router`, `peer`, `client`.
    #[error("role is not router, peer or client")]
    Role,
}

crate::debug_as_text!(IdError);

/// The id of a node: a number of up to 128 bits, not zero.
///
/// On the wire it is little-endian without high zero bytes; as text it is the number in lower-case
/// hexadecimal. Ids are ordered as the protocol orders them for tie-breaks: byte by byte, low byte first,
/// which is not the numeric order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ZenohId {
    bytes: [u8; 16],
    length: NonZeroU8,
}

impl ZenohId {
    /// Creates the id with these little-endian bytes; high zero bytes are trimmed.
    ///
    /// # Errors
    /// If the number is zero or there are more than 16 bytes.
    #[inline]
    pub fn from_le_bytes(bytes: &[u8]) -> Result<Self, IdError> {
        let mut padded = [0; 16];
        match padded.get_mut(..bytes.len()) {
            Some(room) => room.copy_from_slice(bytes),
            None => {
                return Err(IdError::TooLong {
                    length: bytes.len(),
                });
            }
        }
        Self::from_number(u128::from_le_bytes(padded)).ok_or(IdError::Zero)
    }

    #[inline]
    fn from_number(number: u128) -> Option<Self> {
        let length = 16 - number.leading_zeros() / 8;
        Some(ZenohId {
            bytes: number.to_le_bytes(),
            length: NonZeroU8::new(length as u8)?,
        })
    }

    /// Creates a new id from random numbers that the standard library draws for hash tables: unlike
    /// any other, but no secret.
    ///
    /// ```
    /// use zonda_codec::ZenohId;
    /// assert_ne!(ZenohId::rand(), ZenohId::rand());
    /// assert_ne!(ZenohId::default(), ZenohId::default());
    /// ```
    pub fn rand() -> Self {
        let half = || u128::from(RandomState::new().hash_one(()));
        Self::random_from(half() << 64 | half())
    }

    /// Creates the id of a random number; zero, which is no id, becomes one.
    pub fn random_from(number: u128) -> Self {
        let number = number.max(1);
        ZenohId {
            bytes: number.to_le_bytes(),
            length: NonZeroU8::MIN.saturating_add(15 - (number.leading_zeros() / 8) as u8),
        }
    }

    /// Returns the bytes as they travel: little-endian, 1 to 16 of them.
    #[inline]
    pub fn as_le_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length()).unwrap_or(&self.bytes)
    }

    /// Returns the little-endian bytes with high zero bytes up to 16.
    #[inline]
    pub fn to_le_bytes(&self) -> [u8; 16] {
        self.bytes
    }

    /// Returns [`to_le_bytes`](Self::to_le_bytes), by a name that differs clearly from
    /// [`as_le_bytes`](Self::as_le_bytes).
    #[inline]
    pub fn to_padded(&self) -> [u8; 16] {
        self.bytes
    }

    #[inline]
    fn length(&self) -> usize {
        usize::from(self.length.get())
    }

    /// Returns the byte that announces the id in message headers: its length less one above four
    /// `low` bits.
    #[inline]
    pub(crate) fn header(&self, low: u8) -> u8 {
        (self.length.get() - 1) << 4 | low
    }

    /// Reads the id announced by a `header` byte.
    #[inline]
    pub(crate) fn read(header: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = reader.take(usize::from(header >> 4) + 1)?;
        Self::checked(bytes, reader)
    }

    /// Reads an id with its length before it, as timestamps and link states hold it.
    ///
    /// # Errors
    /// If the input is cut or the bytes are no id.
    #[inline]
    pub fn read_sized(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = reader.bytes_z64()?;
        Self::checked(bytes, reader)
    }

    #[inline]
    fn checked(bytes: &[u8], reader: &Reader<'_>) -> Result<Self, DecodeError> {
        Self::from_le_bytes(bytes).map_err(|_| reader.invalid("node id", bytes.len() as u64))
    }

    /// Writes the id with its length before it; on [`EncodeError`] the length may have been written.
    ///
    /// # Errors
    /// [`EncodeError`] if it does not fit.
    #[inline]
    pub fn write_sized(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.u8(self.length.get())?;
        writer.bytes(self.as_le_bytes())
    }

    /// Returns the length of that form.
    #[inline]
    pub(crate) fn sized_len(&self) -> usize {
        1 + self.length()
    }
}

/// Returns [`ZenohId::rand`]: another one each time.
impl Default for ZenohId {
    fn default() -> Self {
        Self::rand()
    }
}

impl TryFrom<&[u8]> for ZenohId {
    type Error = IdError;

    fn try_from(bytes: &[u8]) -> Result<Self, IdError> {
        Self::from_le_bytes(bytes)
    }
}

impl<const N: usize> TryFrom<[u8; N]> for ZenohId {
    type Error = IdError;

    fn try_from(bytes: [u8; N]) -> Result<Self, IdError> {
        Self::from_le_bytes(&bytes)
    }
}

impl fmt::Display for ZenohId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = u128::from_le_bytes(self.bytes);
        formatter.pad(&format!("{number:x}"))
    }
}

impl fmt::Debug for ZenohId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for ZenohId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        if let Some(character) = text.chars().find(|digit| !digit.is_ascii_hexdigit()) {
            return Err(IdError::NotHex { character });
        }
        if text.len() > 32 {
            return Err(IdError::TooLong { length: text.len() });
        }
        let number = u128::from_str_radix(text, 16).unwrap_or(0);
        Self::from_number(number).ok_or(IdError::Zero)
    }
}

/// The role a node plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WhatAmI {
    /// A node that forwards between all neighbours.
    Router,
    /// A node that connects to its peers directly.
    Peer,
    /// A node behind one router or peer.
    Client,
}

impl WhatAmI {
    /// Returns the number in INIT, JOIN and HELLO: 0, 1, 2.
    #[inline]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the role with this [`code`](Self::code).
    #[inline]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(WhatAmI::Router),
            1 => Some(WhatAmI::Peer),
            2 => Some(WhatAmI::Client),
            _ => None,
        }
    }

    /// Returns the bit in SCOUT and link states: 1, 2, 4.
    #[inline]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Returns the role with this [`bit`](Self::bit).
    #[inline]
    pub const fn from_bit(bit: u8) -> Option<Self> {
        match bit {
            1 => Some(WhatAmI::Router),
            2 => Some(WhatAmI::Peer),
            4 => Some(WhatAmI::Client),
            _ => None,
        }
    }

    /// Reads the two low bits of a header byte.
    #[inline]
    pub(crate) fn read(header: u8, reader: &Reader<'_>) -> Result<Self, DecodeError> {
        Self::from_code(header & 0b11).ok_or_else(|| reader.invalid("role", u64::from(header & 3)))
    }

    /// Returns the name used in configuration and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            WhatAmI::Router => "router",
            WhatAmI::Peer => "peer",
            WhatAmI::Client => "client",
        }
    }
}

/// The reference's names.
impl WhatAmI {
    /// Returns [`as_str`](Self::as_str).
    pub const fn to_str(self) -> &'static str {
        self.as_str()
    }

    /// Returns true for a role that forwards between all its neighbours.
    pub const fn is_router(self) -> bool {
        matches!(self, WhatAmI::Router)
    }

    /// Returns true for a role that connects to its peers directly.
    pub const fn is_peer(self) -> bool {
        matches!(self, WhatAmI::Peer)
    }

    /// Returns true for a role behind one router or peer.
    pub const fn is_client(self) -> bool {
        matches!(self, WhatAmI::Client)
    }
}

impl fmt::Display for WhatAmI {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for WhatAmI {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text {
            "router" => Ok(WhatAmI::Router),
            "peer" => Ok(WhatAmI::Peer),
            "client" => Ok(WhatAmI::Client),
            _ => Err(IdError::Role),
        }
    }
}

/// A set of roles, as in SCOUT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Roles(u8);

impl Roles {
    /// Routers, peers and clients.
    pub const ALL: Roles = Roles(0b111);

    /// Returns the set with these bits (1 router, 2 peer, 4 client); further bits are dropped.
    pub const fn from_bits(bits: u8) -> Self {
        Roles(bits & 0b111)
    }

    /// Returns the bits of the set.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the set with `role` added.
    #[must_use]
    pub const fn with(self, role: WhatAmI) -> Self {
        Roles(self.0 | role.bit())
    }

    /// Returns true if `role` is in the set.
    pub const fn contains(self, role: WhatAmI) -> bool {
        self.0 & role.bit() != 0
    }

    /// Returns true if no role is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The reference's names.
///
/// ```
/// use zonda_codec::{Roles, WhatAmI};
/// let servers = Roles::empty().router().peer();
/// assert!(servers.matches(WhatAmI::Peer) && !servers.matches(WhatAmI::Client));
/// assert_eq!(servers.to_str(), "router|peer");
/// ```
impl Roles {
    /// Creates an empty set.
    pub const fn empty() -> Self {
        Roles(0)
    }

    /// Adds routers.
    #[must_use]
    pub const fn router(self) -> Self {
        self.with(WhatAmI::Router)
    }

    /// Adds peers.
    #[must_use]
    pub const fn peer(self) -> Self {
        self.with(WhatAmI::Peer)
    }

    /// Adds clients.
    #[must_use]
    pub const fn client(self) -> Self {
        self.with(WhatAmI::Client)
    }

    /// Returns [`contains`](Self::contains).
    pub const fn matches(self, role: WhatAmI) -> bool {
        self.contains(role)
    }

    /// Returns the names joined by `|`.
    pub const fn to_str(self) -> &'static str {
        match self.0 {
            0b001 => "router",
            0b010 => "peer",
            0b011 => "router|peer",
            0b100 => "client",
            0b101 => "router|client",
            0b110 => "peer|client",
            0b111 => "router|peer|client",
            _ => "",
        }
    }
}

impl From<WhatAmI> for Roles {
    fn from(role: WhatAmI) -> Self {
        Roles::default().with(role)
    }
}

impl FromIterator<WhatAmI> for Roles {
    fn from_iter<I: IntoIterator<Item = WhatAmI>>(roles: I) -> Self {
        roles.into_iter().fold(Roles::default(), Roles::with)
    }
}

impl<R: Into<Roles>> BitOr<R> for WhatAmI {
    type Output = Roles;

    fn bitor(self, other: R) -> Roles {
        Roles::from(self) | other
    }
}

impl<R: Into<Roles>> BitOr<R> for Roles {
    type Output = Roles;

    fn bitor(self, other: R) -> Roles {
        Roles(self.0 | other.into().0)
    }
}

/// The names joined by `|`, in the order router, peer, client.
impl fmt::Display for Roles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.to_str())
    }
}

/// An entity (publisher, subscriber, queryable...) of some node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntityGlobalId {
    /// The node.
    pub zid: ZenohId,
    /// The entity's number within the node.
    pub eid: u32,
}

impl EntityGlobalId {
    /// Returns the node.
    pub const fn zid(&self) -> ZenohId {
        self.zid
    }

    /// Returns the entity's number within the node.
    pub const fn eid(&self) -> u32 {
        self.eid
    }

    /// Reads `u8 (zidlen-1)<<4 | zid | v32 eid`.
    #[inline]
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let header = reader.u8()?;
        Ok(EntityGlobalId {
            zid: ZenohId::read(header, reader)?,
            eid: reader.v32()?,
        })
    }

    #[inline]
    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.u8(self.zid.header(0))?;
        writer.bytes(self.zid.as_le_bytes())?;
        writer.vle(u64::from(self.eid))
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.zid.sized_len() + vle_len(u64::from(self.eid))
    }
}

/// The source of a sample: the entity and its own count of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceInfo {
    /// The entity that published.
    pub id: EntityGlobalId,
    /// The sequence number.
    pub sn: u32,
}

impl SourceInfo {
    /// Creates the source info of the message of this number from this entity. The publisher keeps
    /// the count.
    pub const fn new(source_id: EntityGlobalId, source_sn: u32) -> Self {
        SourceInfo {
            id: source_id,
            sn: source_sn,
        }
    }

    /// Returns the entity that published.
    pub const fn source_id(&self) -> &EntityGlobalId {
        &self.id
    }

    /// Returns the sequence number.
    pub const fn source_sn(&self) -> u32 {
        self.sn
    }

    #[inline]
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(SourceInfo {
            id: EntityGlobalId::read(reader)?,
            sn: reader.v32()?,
        })
    }

    #[inline]
    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        self.id.write(writer)?;
        writer.vle(u64::from(self.sn))
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.id.len() + vle_len(u64::from(self.sn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_trimmed_and_shown_as_numbers() {
        let id = ZenohId::from_le_bytes(&[0xa1, 0xb2, 0x00]).expect("an id");
        assert_eq!(id.as_le_bytes(), &[0xa1, 0xb2]);
        assert_eq!(id.to_string(), "b2a1");
        assert_eq!("b2a1".parse(), Ok(id));
        assert_eq!("0B2A1".parse(), Ok(id));
        assert_eq!(ZenohId::random_from(0).to_string(), "1");
        assert_eq!(ZenohId::random_from(u128::MAX).as_le_bytes(), &[0xff; 16]);
        assert_eq!(ZenohId::random_from(0xb2a1), id);
    }

    #[test]
    fn no_ids() {
        assert_eq!(ZenohId::from_le_bytes(&[0, 0]), Err(IdError::Zero));
        assert_eq!(ZenohId::from_le_bytes(&[]), Err(IdError::Zero));
        assert_eq!(
            ZenohId::from_le_bytes(&[1; 17]),
            Err(IdError::TooLong { length: 17 })
        );
        assert_eq!("".parse::<ZenohId>(), Err(IdError::Zero));
        assert_eq!(
            "12g".parse::<ZenohId>(),
            Err(IdError::NotHex { character: 'g' })
        );
        assert_eq!(
            "1".repeat(33).parse::<ZenohId>(),
            Err(IdError::TooLong { length: 33 })
        );
    }

    #[test]
    fn order_is_by_bytes_from_the_low_end() {
        let one: ZenohId = "100".parse().expect("an id");
        let two: ZenohId = "2".parse().expect("an id");
        assert!(one < two, "00 01 comes before 02 00");
    }

    #[test]
    fn roles() {
        let set = Roles::default().with(WhatAmI::Router).with(WhatAmI::Client);
        assert_eq!(set.bits(), 5);
        assert!(set.contains(WhatAmI::Client) && !set.contains(WhatAmI::Peer));
        for role in [WhatAmI::Router, WhatAmI::Peer, WhatAmI::Client] {
            assert_eq!(role.to_string().parse(), Ok(role));
            assert_eq!(WhatAmI::from_code(role.code()), Some(role));
            assert_eq!(WhatAmI::from_bit(role.bit()), Some(role));
        }
        assert_eq!("Router".parse::<WhatAmI>(), Err(IdError::Role));
        assert_eq!(WhatAmI::Client | WhatAmI::Router, set);
        assert_eq!(set | WhatAmI::Peer, Roles::ALL);
        assert_eq!(set.to_string(), "router|client");
        assert!(Roles::default().is_empty() && !set.is_empty());
    }
}
