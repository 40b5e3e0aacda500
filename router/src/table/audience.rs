// SPDX-License-Identifier: MIT OR Apache-2.0

//! The recipients of what the session publishes and asks: which kind of them, and where they are.

use zonda_codec::Target;

use crate::table::kind::Kind;

/// Which nodes a message passes between, seen from a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Locality {
    /// Within the session only.
    SessionLocal,
    /// Between the session and everybody else, but not within it.
    Remote,
    /// Both.
    #[default]
    Any,
}

impl Locality {
    /// Whether it passes within the session.
    pub const fn is_within(self) -> bool {
        !matches!(self, Locality::Remote)
    }

    /// Whether it passes between the session and others.
    pub const fn is_beyond(self) -> bool {
        !matches!(self, Locality::SessionLocal)
    }
}

/// Those that something of the session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counterpart {
    /// Of a publisher: subscribers on keys that intersect its own.
    Subscribers,
    /// Of a querier: queryables on keys that intersect its own.
    Queryables,
    /// Of a querier that asks all complete ones: queryables that are complete, on keys that include its own.
    CompleteQueryables,
}

impl Counterpart {
    /// Those that a query for `target` is for.
    pub const fn of_target(target: Target) -> Counterpart {
        match target {
            Target::AllComplete => Counterpart::CompleteQueryables,
            Target::All | Target::BestMatching => Counterpart::Queryables,
        }
    }

    /// Those of them that are in `destination`.
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

/// Those that something of the session is for: what they are, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Audience {
    /// What they are.
    pub what: Counterpart,
    /// Where they are.
    pub destination: Locality,
}
