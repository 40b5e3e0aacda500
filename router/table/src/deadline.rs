// SPDX-License-Identifier: MIT OR Apache-2.0

//! Time of the next call that the table needs.

use std::time::Instant;

/// Time at which [`crate::ForwardingTable::expire`] has to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deadline {
    /// At once: a new deadline has to be set.
    Now,
    /// At this time.
    At(Instant),
}
