// SPDX-License-Identifier: MIT OR Apache-2.0
//! Common part of the measuring examples, whatever they measure and by whatever calls: their flags,
//! sending without a pause, counting by rounds, timing round trips, and printing all that.

// each example uses its own part of this module
#![allow(dead_code, unused_imports)]

mod rounds;
mod sending;
mod trips;

pub use rounds::{Counting, Rounds, print_rate};
pub use sending::Sending;
pub use trips::{RoundTrip, Trips};
