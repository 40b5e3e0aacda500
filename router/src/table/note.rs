// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the table has for the log of the node.

/// Why there is a note. The node limits log lines by cause.
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
    /// How many causes there are.
    pub const COUNT: usize = 3;
}

/// One line about a neighbour, the first of its cause for that neighbour. What came from the neighbour is in it as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Why.
    pub cause: NoteCause,
    /// The line.
    pub text: String,
}
