// SPDX-License-Identifier: MIT OR Apache-2.0

//! Recipients of the session's publications and queries: their kind and their place.

use zonda_codec::Target;

use crate::table::kind::Kind;

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
    pub const fn is_within(self) -> bool {
        !matches!(self, Locality::Remote)
    }

    /// Returns true if messages pass between the session and other sessions and nodes.
    pub const fn is_beyond(self) -> bool {
        !matches!(self, Locality::SessionLocal)
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
    pub const fn of_target(target: Target) -> Counterpart {
        match target {
            Target::AllComplete => Counterpart::CompleteQueryables,
            Target::All | Target::BestMatching => Counterpart::Queryables,
        }
    }

    /// Returns the counterparts that are in `destination`.
    pub const fn within(self, destination: Locality) -> Audience {
        Audience {
            what: self,
            destination,
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
    pub destination: Locality,
}
