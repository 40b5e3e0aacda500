// SPDX-License-Identifier: MIT OR Apache-2.0

//! What [`Session::undeclare`](crate::Session::undeclare) takes.

use std::convert::Infallible;

use zonda_codec::KeyExpr;

use crate::connections::EventsListener;
use crate::gone::{Ended, UndeclareError};
use crate::handle::Session;
use crate::liveliness::LivelinessToken;
use crate::matching::MatchingListener;
use crate::publisher::Publisher;
use crate::query::{Querier, Queryable};
use crate::subscriber::Subscriber;

/// What was declared by a session and can be taken back.
pub trait Declared {
    /// How that can fail.
    type Error;

    /// Takes it back.
    fn undeclare_from(self, session: &Session) -> Ended<Self::Error>;
}

/// Writes it for what knows its session.
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
