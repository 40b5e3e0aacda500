// SPDX-License-Identifier: MIT OR Apache-2.0

//! Permission of a message, and the way in which rules decide about it.

/// Permission of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// It passes.
    Allow,
    /// It does not pass.
    Deny,
}

/// Way in which rules decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AccessMode {
    /// Rules decide as in the reference.
    #[default]
    Normal,
    /// A rule denies wherever one of its keys intersects that of the message, and whatever other
    /// subjects may do.
    Strict,
    /// All messages pass; those that would be denied are counted and logged.
    Audit,
}
