// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the measuring examples share, whatever they measure and by whatever calls: their flags, sending without a pause,
//! counting by rounds, timing round trips, and how all that is printed.

// each example uses its own part of this module
#![allow(dead_code, unused_imports)]

mod rounds;
mod sending;
mod trips;

pub use rounds::{Counting, Rounds, print_rate};
pub use sending::Sending;
pub use trips::{RoundTrip, Trips};
