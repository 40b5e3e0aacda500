// SPDX-License-Identifier: MIT OR Apache-2.0

//! The node: many connections and one forwarding table, behind a handful of calls.

mod types;

pub use types::*;
