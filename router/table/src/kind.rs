// SPDX-License-Identifier: MIT OR Apache-2.0

//! Kinds of entities that nodes declare on keys.

use zonda_codec::InterestOptions;

/// Reference to an entity of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EntityRef {
    pub(super) kind: Kind,
    /// Its number among the entities of its kind.
    pub(super) index: u32,
}

/// Kind of a declaration on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Subscriber, which receives samples.
    Subscriber,
    /// Queryable, which replies to queries.
    Queryable,
    /// Liveliness token, which is alive as long as its session.
    Token,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Subscriber, Kind::Queryable, Kind::Token];

    /// Returns the interest option for this kind.
    pub(super) const fn option(self) -> InterestOptions {
        match self {
            Kind::Subscriber => InterestOptions::SUBSCRIBERS,
            Kind::Queryable => InterestOptions::QUERYABLES,
            Kind::Token => InterestOptions::TOKENS,
        }
    }
}

/// One value per kind.
#[derive(Debug, Default)]
pub(super) struct PerKind<T>([T; 3]);

impl<T> PerKind<T> {
    pub(super) fn of(&self, kind: Kind) -> &T {
        &self.0[kind as usize]
    }

    pub(super) fn of_mut(&mut self, kind: Kind) -> &mut T {
        &mut self.0[kind as usize]
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// Returns each value with its kind.
    pub(super) fn into_each(self) -> impl Iterator<Item = (Kind, T)> {
        Kind::ALL.into_iter().zip(self.0)
    }
}

/// Returns the kinds that an interest covers.
pub(super) fn kinds(options: InterestOptions) -> impl Iterator<Item = Kind> {
    let wanted = move |kind: &Kind| options.contains(kind.option());
    Kind::ALL.into_iter().filter(wanted)
}
