// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Refusal`]: reasons for which a segment is not opened or a payload not taken.

/// Reason for which a segment is not opened or a payload not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A file is absent, or cannot be opened or mapped.
    #[error("the segment cannot be opened: {0}")]
    Absent(std::io::ErrorKind),
    /// A file belongs to another user, or other users may open it.
    #[error("the segment is not this user's alone")]
    Owner,
    /// A file does not have the size of its kind, or has lost bytes.
    #[error("the segment has {0} bytes")]
    Size(u64),
    /// The descriptor names a header beyond the last one.
    #[error("header {0} does not exist")]
    Index(u32),
    /// The buffer was given to another payload.
    #[error("the buffer is of generation {0} by now")]
    Generation(u32),
    /// The owner has given the buffer up.
    #[error("the owner has given the buffer up")]
    Invalidated,
    /// The payload lies in memory of another kind.
    #[error("memory of kind {0} is not known")]
    Protocol(u32),
    /// The payload is empty, longer than its buffer, or not inside its segment.
    #[error("{len} bytes at {offset} are not inside the buffer")]
    Bounds {
        /// Offset in the segment.
        offset: u64,
        /// Length of the payload.
        len: u64,
    },
    /// The neighbour uses too many segments or buffers at once.
    #[error("the neighbour has more than {0} of them")]
    Limit(usize),
}

impl Refusal {
    /// Number of reasons.
    pub const COUNT: usize = 9;

    /// Labels of the reasons, by [`Refusal::number`].
    pub const LABELS: [&str; Refusal::COUNT] = [
        "absent",
        "owner",
        "size",
        "index",
        "generation",
        "invalidated",
        "protocol",
        "bounds",
        "limit",
    ];

    /// Returns the number of the reason, below [`Refusal::COUNT`].
    #[must_use]
    pub fn number(&self) -> usize {
        match self {
            Refusal::Absent(_) => 0,
            Refusal::Owner => 1,
            Refusal::Size(_) => 2,
            Refusal::Index(_) => 3,
            Refusal::Generation(_) => 4,
            Refusal::Invalidated => 5,
            Refusal::Protocol(_) => 6,
            Refusal::Bounds { .. } => 7,
            Refusal::Limit(_) => 8,
        }
    }
}

impl From<rustix::io::Errno> for Refusal {
    fn from(errno: rustix::io::Errno) -> Self {
        Refusal::Absent(errno.kind())
    }
}
