// SPDX-License-Identifier: MIT OR Apache-2.0

//! The configuration of a node: the reference's JSON5 keys, typed, with nothing silently ignored.

/// The configuration of a node.
#[derive(Debug, Clone, Default)]
pub struct Config {}
