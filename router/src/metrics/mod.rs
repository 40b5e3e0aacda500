// SPDX-License-Identifier: MIT OR Apache-2.0

//! The counters of a node: `node` declares each one once, `text` writes them as OpenMetrics.

pub(crate) mod node;
mod text;

pub use text::*;
