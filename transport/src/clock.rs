// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time that outboxes and drivers go by: the system's, or in a simulation the virtual one.

use std::time::Instant;

/// The time now.
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
