// SPDX-License-Identifier: MIT OR Apache-2.0

//! When the table wants to be called again.

use std::time::Instant;

/// When [`crate::table::ForwardingTable::expire`] wants to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deadline {
    /// As soon as possible: something waits to be timed.
    Now,
    /// At this time.
    At(Instant),
}
