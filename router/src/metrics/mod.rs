// SPDX-License-Identifier: MIT OR Apache-2.0

//! The counters of a node: `table` declares them, `node` reads them, `reference` has
//! those with the reference's names, `text` formats them as
//! OpenMetrics.

pub(crate) mod node;
pub(crate) mod reference;
pub(crate) mod table;
mod text;

pub use text::*;
