// SPDX-License-Identifier: MIT OR Apache-2.0
//! System's reason for a failed socket call, in a form that can be compared, cloned and read in one
//! line.

use std::{fmt, io};

/// Error of a socket call: the kind for programs, the text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoFailure {
    kind: io::ErrorKind,
    text: String,
}

impl IoFailure {
    /// Returns the kind of error.
    pub fn kind(&self) -> io::ErrorKind {
        self.kind
    }
}

impl From<io::Error> for IoFailure {
    fn from(error: io::Error) -> Self {
        let text = error.to_string();
        // Strips the number that the standard library appends, and makes the text a clause in a
        // sentence.
        let text = text.split(" (os error").next().unwrap_or(&text);
        let mut text = text
            .strip_prefix("failed to lookup address information: ")
            .unwrap_or(text)
            .to_owned();
        if let Some(first) = text.get_mut(..1) {
            first.make_ascii_lowercase();
        }
        IoFailure {
            kind: error.kind(),
            text,
        }
    }
}

impl fmt::Display for IoFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Rule of a kind of link that a peer broke, as a clause: the inside of an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RulesBroken(pub(super) String);
