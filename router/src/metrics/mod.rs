// SPDX-License-Identifier: MIT OR Apache-2.0

//! The counters of a node: `table` declares each one once, `node` reads them, `text` writes them as OpenMetrics.

pub(crate) mod node;
pub(crate) mod table;
mod text;

pub use text::*;
