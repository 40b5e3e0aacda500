// SPDX-License-Identifier: MIT OR Apache-2.0

//! Option structs of zenoh-c 1.7 and later: three of them end with a token that cancels the get.

use zonda::cancellation::CancellationToken;

use crate::place::{Moved, taken};

/// The last member of options of a get.
#[derive(Default)]
#[repr(transparent)]
pub struct TokenOption<'a>(Moved<'a, CancellationToken>);

impl TokenOption<'_> {
    /// Takes the token that the program gives away.
    pub fn take(&mut self) -> Option<CancellationToken> {
        taken(self.0.take())
    }
}
