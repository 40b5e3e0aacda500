// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the measuring examples share, whatever they measure: counting by rounds, timing round trips, and how both
//! are printed.

// each example uses its own part of this module
#![allow(dead_code, unused_imports)]

mod rounds;
mod trips;

pub use rounds::{Rounds, print_rate};
pub use trips::{Schedule, print_samples, print_summary};
