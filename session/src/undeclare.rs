// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arguments of [`Session::undeclare`](crate::Session::undeclare).

use std::convert::Infallible;

use zonda_codec::KeyExpr;

use crate::callback_group::{Ended, UndeclareError};
use crate::connections::EventsListener;
use crate::handle::Session;
use crate::liveliness::LivelinessToken;
use crate::matching::MatchingListener;
use crate::publisher::Publisher;
use crate::query::{Querier, Queryable};
use crate::subscriber::Subscriber;

/// An entity that a session has declared and can undeclare.
pub trait Declared {
    /// Error of undeclaring it.
    type Error;

    /// Undeclares it.
    fn undeclare_from(self, session: &Session) -> Ended<Self::Error>;
}

/// Implements the trait for entities that know their session.
macro_rules! undeclares_itself {
    ($([$($generics:tt)*] $declared:ty),+) => {$(
        impl<$($generics)*> Declared for $declared {
            type Error = Infallible;

            fn undeclare_from(self, _session: &Session) -> Ended {
                self.undeclare()
            }
        }
    )+};
}

undeclares_itself!(
    [] Publisher<'_>,
    [H] Subscriber<H>,
    [] Querier<'_>,
    [H] Queryable<H>,
    [] LivelinessToken,
    [H] MatchingListener<H>,
    [H] EventsListener<H>
);

impl Declared for KeyExpr<'_> {
    type Error = UndeclareError;

    fn undeclare_from(self, session: &Session) -> Ended<UndeclareError> {
        match session.has_declared(&self) {
            true => Ended::now().fallible(),
            false => Ended::refused(UndeclareError::Unknown(self.into_owned())),
        }
    }
}
