// SPDX-License-Identifier: MIT OR Apache-2.0

//! The counters of a node: `table` declares them, `node` reads them, `text` formats them as
//! OpenMetrics.

pub(crate) mod node;
pub(crate) mod table;
mod text;

pub use text::*;
