// SPDX-License-Identifier: MIT OR Apache-2.0

//! Recipients of the publications and queries of a session: their kind and their place.

use zonda_codec::Target;

use crate::kind::Kind;

/// Nodes between which a message passes, seen from a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Locality {
    /// Within the session only.
    SessionLocal,
    /// Between the session and other sessions and nodes, but not within it.
    Remote,
    /// Within the session and beyond it.
    #[default]
    Any,
}

impl Locality {
    /// Returns true if messages pass within the session.
    #[inline]
    pub const fn is_within(self) -> bool {
        !matches!(self, Locality::Remote)
    }

    /// Returns true if messages pass between the session and other sessions and nodes.
    #[inline]
    pub const fn is_beyond(self) -> bool {
        !matches!(self, Locality::SessionLocal)
    }
}

/// Number of a session among the sources of messages of its node. The session that opened the node
/// has 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SessionNumber(pub u32);

/// Part of the sessions and nodes between which a message passes, seen from one session: the
/// destination of its messages, or the origin of the messages for one of its entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Reach {
    /// The session.
    pub session: SessionNumber,
    /// The part.
    pub locality: Locality,
}

impl Reach {
    /// All sessions and nodes, seen from the session that opened the node.
    pub const ANY: Reach = Reach {
        session: SessionNumber(0),
        locality: Locality::Any,
    };

    /// Returns true if messages pass between the session and other nodes.
    #[inline]
    pub const fn is_beyond(self) -> bool {
        self.locality.is_beyond()
    }

    /// Returns true if a message with this destination passes to an entity with this origin.
    #[inline]
    pub const fn meets(self, origin: Reach) -> bool {
        match self.session.0 == origin.session.0 {
            true => self.locality.is_within() && origin.locality.is_within(),
            false => self.locality.is_beyond() && origin.locality.is_beyond(),
        }
    }
}

impl From<Locality> for Reach {
    /// Seen from the session that opened the node.
    #[inline]
    fn from(locality: Locality) -> Reach {
        Reach {
            locality,
            ..Reach::ANY
        }
    }
}

/// Kind of the entities that match a publisher or querier of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counterpart {
    /// Of a publisher: subscribers on keys that intersect its own.
    Subscribers,
    /// Of a querier: queryables on keys that intersect its own.
    Queryables,
    /// Of a querier whose target is all complete queryables: complete queryables on keys that
    /// include its own.
    CompleteQueryables,
}

impl Counterpart {
    /// Returns the counterpart of a query for `target`.
    #[inline]
    pub const fn of_target(target: Target) -> Counterpart {
        match target {
            Target::AllComplete => Counterpart::CompleteQueryables,
            Target::All | Target::BestMatching => Counterpart::Queryables,
        }
    }

    /// Returns the counterparts that are in `destination`.
    #[inline]
    pub fn within(self, destination: impl Into<Reach>) -> Audience {
        Audience {
            what: self,
            destination: destination.into(),
        }
    }

    pub(super) const fn kind(self) -> Kind {
        match self {
            Counterpart::Subscribers => Kind::Subscriber,
            Counterpart::Queryables | Counterpart::CompleteQueryables => Kind::Queryable,
        }
    }
}

/// Counterparts of a publisher or querier of the session, by kind and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Audience {
    /// Their kind.
    pub what: Counterpart,
    /// Their place.
    pub destination: Reach,
}
