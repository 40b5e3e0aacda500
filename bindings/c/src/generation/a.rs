// SPDX-License-Identifier: MIT OR Apache-2.0

//! Option structs of zenoh-c 1.4 to 1.6: a get has no token that cancels it.

use std::marker::PhantomData;

use zonda::cancellation::CancellationToken;

/// The last member of options of a get, which programs of that time do not have.
#[derive(Default)]
pub struct TokenOption<'a>(PhantomData<&'a ()>);

impl TokenOption<'_> {
    /// Returns no token.
    pub fn take(&mut self) -> Option<CancellationToken> {
        None
    }
}
