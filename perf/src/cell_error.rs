// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a cell of the table could not be measured.

use std::io;
use std::time::Duration;

/// What went wrong in a measurement. Its text is one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CellError {
    /// The operating system did not start a program.
    #[error("cannot start {program}: {error}")]
    Start {
        /// Name and path of the program.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// A program ended in the middle of its work.
    #[error("{program} ended early ({status}): {}", if tail.is_empty() { "it said nothing" } else { tail })]
    Died {
        /// Name of the program.
        program: String,
        /// Its exit status.
        status: String,
        /// The last lines of its standard error.
        tail: String,
    },
    /// A program did not get there in time.
    #[error("{program} did not {what} within {after:?}")]
    Late {
        /// Name of the program.
        program: String,
        /// What was waited for.
        what: &'static str,
        /// How long.
        after: Duration,
    },
    /// A program said something that does not belong to its role.
    #[error("{program} said {line:?} where {expected} was expected")]
    Nonsense {
        /// Name of the program.
        program: String,
        /// Its line.
        line: String,
        /// What should have come.
        expected: &'static str,
    },
    /// Something of this process itself.
    #[error("{what}: {error}")]
    Own {
        /// What was being done.
        what: &'static str,
        /// Why it failed.
        error: io::Error,
    },
    /// The user pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}
