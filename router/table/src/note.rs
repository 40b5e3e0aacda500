// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lines that the table has for the log of the node.

/// Cause of a note. The node limits log lines by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteCause {
    /// A key of a neighbour cannot be used.
    BadKey,
    /// A neighbour has declared as much as it may.
    Declarations,
    /// A neighbour has as many open queries as it may.
    Queries,
}

impl NoteCause {
    /// Number of causes.
    pub const COUNT: usize = 3;
}

/// Log line about a neighbour, the first of its cause for that neighbour. Text from the neighbour
/// is not escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The cause.
    pub cause: NoteCause,
    /// The line.
    pub text: String,
}
