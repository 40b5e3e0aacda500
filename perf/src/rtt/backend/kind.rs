// SPDX-License-Identifier: MIT OR Apache-2.0
//! The backends by name.

use std::fmt;

#[cfg(any(feature = "tokio", all(feature = "uring", target_os = "linux")))]
use zonda_program::Failure;

/// A backend, which moves the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// tokio with its pool of worker threads.
    Tokio,
    /// tokio on one thread.
    TokioCurrent,
    /// smol.
    Smol,
    /// async-std, which is discontinued.
    AsyncStd,
    /// Blocking sockets of the standard library.
    Std,
    /// io_uring through compio.
    Uring,
}

impl Backend {
    /// All backends, in the order of the tables.
    pub const ALL: [Backend; 6] = [
        Backend::Std,
        Backend::Tokio,
        Backend::TokioCurrent,
        Backend::Smol,
        Backend::AsyncStd,
        Backend::Uring,
    ];

    /// Returns its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Tokio => "tokio",
            Backend::TokioCurrent => "tokio-current",
            Backend::Smol => "smol",
            Backend::AsyncStd => "async-std",
            Backend::Std => "std",
            Backend::Uring => "uring",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the error of a runtime that cannot start, with advice.
#[cfg(any(feature = "tokio", all(feature = "uring", target_os = "linux")))]
pub fn cannot_start(backend: Backend, error: &std::io::Error) -> Failure {
    Failure::Run(format!(
        "--backend {backend}: cannot start it: {error}; try --backend std"
    ))
}
