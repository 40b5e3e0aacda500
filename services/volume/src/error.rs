// SPDX-License-Identifier: MIT OR Apache-2.0

//! Errors of volumes and stores, each of one line.

/// Reason why a store cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An option is wrong.
    #[error("{0}")]
    Option(String),
    /// Another storage or another process has it open.
    #[error(
        "{place} is in use: another storage, or another process, has it open; give each storage a folder of its own"
    )]
    InUse {
        /// File or folder.
        place: String,
    },
    /// The data is damaged.
    #[error("{place} is damaged: {reason}; restore it from a copy, or move it away to start empty")]
    Damaged {
        /// File or folder.
        place: String,
        /// Fault that was found.
        reason: String,
    },
    /// The system refused.
    #[error("{place}: {reason}")]
    System {
        /// File or folder.
        place: String,
        /// Error of the system.
        reason: String,
    },
}

/// Reason why an operation of a store failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store refuses changes.
    #[error("the volume is read-only")]
    ReadOnly,
    /// The disk, or the other end of a connection, failed.
    #[error("{0}")]
    Failed(String),
    /// A stored entry cannot be read.
    #[error("the entry of {name:?} is damaged: {reason}")]
    Damaged {
        /// Name of the entry.
        name: String,
        /// Fault that was found.
        reason: &'static str,
    },
    /// The name of an entry has a form that the store cannot keep.
    #[error("{name:?} cannot be stored: {reason}")]
    Name {
        /// Name of the entry.
        name: String,
        /// Fault of the name.
        reason: &'static str,
    },
}
