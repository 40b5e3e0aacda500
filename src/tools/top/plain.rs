// SPDX-License-Identifier: MIT OR Apache-2.0
//! A build without the feature `top`: there is no live table, only plain ones.

use std::time::Duration;

use zonda_program::{Failure, Interrupt};

use super::Asker;

/// Returns false: nothing is drawn in place.
pub fn is_possible() -> bool {
    false
}

/// Shows nothing.
pub fn run(_: Asker<'_>, _: Duration, _: bool, _: &Interrupt) -> Result<(), Failure> {
    Ok(())
}
