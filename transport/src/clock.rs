// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clock of outboxes and drivers: the system's, or in a simulation the virtual one.

use std::time::Instant;

/// Returns the current time.
#[inline(always)]
pub(crate) fn now() -> Instant {
    #[cfg(test)]
    if let Some(now) = tests::now() {
        return now;
    }
    Instant::now()
}

#[cfg(test)]
pub(crate) mod tests;
