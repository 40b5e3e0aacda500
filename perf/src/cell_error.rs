// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a cell of the table could not be measured.

use std::fmt::Display;
use std::time::Duration;

/// What went wrong in a measurement. Its text is one line.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// A program or the system did not do its part; the record keeps the sentence.
    #[error("{0}")]
    Failed(String),
    /// The user pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl CellError {
    /// What was being done in this process when `error` happened.
    pub fn own(what: &str, error: impl Display) -> Self {
        CellError::Failed(format!("{what}: {error}"))
    }

    /// `program` did not do `what` in time.
    pub fn late(program: &str, what: &str, after: Duration) -> Self {
        CellError::Failed(format!("{program} did not {what} within {after:?}"))
    }
}
