// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kinds of runtime by name, and their availability in this build.

use std::str::FromStr;
use std::{error, fmt};

use crate::{AsyncStdRuntime, SmolRuntime, ThreadsRuntime, TokioRuntime, UringRuntime};

/// A kind of runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuntimeKind {
    /// `tokio`: tokio with several worker threads.
    Tokio,
    /// `tokio-current`: tokio on one thread.
    TokioCurrent,
    /// `smol`: an executor built from smol's parts with several worker threads.
    Smol,
    /// `async-std`: async-std's process-wide executor. Discontinued upstream in favour of smol.
    AsyncStd,
    /// `threads`: blocking sockets, a thread for each task, no asynchronous runtime.
    Threads,
    /// `uring`: completion I/O by the io_uring of Linux.
    Uring,
}

impl RuntimeKind {
    /// Every kind, with its availability. The first available kind is the default.
    const ALL: [(RuntimeKind, bool); 6] = [
        (RuntimeKind::Tokio, TokioRuntime::COMPILED_IN),
        (RuntimeKind::TokioCurrent, TokioRuntime::COMPILED_IN),
        (RuntimeKind::Smol, SmolRuntime::COMPILED_IN),
        (RuntimeKind::AsyncStd, AsyncStdRuntime::COMPILED_IN),
        (RuntimeKind::Threads, ThreadsRuntime::COMPILED_IN),
        (RuntimeKind::Uring, UringRuntime::COMPILED_IN),
    ];

    /// Returns the name of the kind on command lines and in configurations.
    pub fn name(self) -> &'static str {
        match self {
            RuntimeKind::Tokio => "tokio",
            RuntimeKind::TokioCurrent => "tokio-current",
            RuntimeKind::Smol => "smol",
            RuntimeKind::AsyncStd => "async-std",
            RuntimeKind::Threads => "threads",
            RuntimeKind::Uring => "uring",
        }
    }

    /// Returns the kinds that are compiled in, in the order of preference.
    pub fn available() -> impl Iterator<Item = RuntimeKind> {
        Self::ALL
            .into_iter()
            .filter(|(_, compiled_in)| *compiled_in)
            .map(|(kind, _)| kind)
    }

    /// Returns the names of [`RuntimeKind::available`], as in `tokio, smol`; `none` if there are
    /// none.
    pub fn available_names() -> String {
        let names: Vec<_> = Self::available().map(RuntimeKind::name).collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    }
}

/// The first kind that is compiled in, in the order `tokio`, `smol`, `async-std`, `threads`,
/// `uring`; `tokio` if none is (then [`crate::AnyRuntime::start`] fails).
impl Default for RuntimeKind {
    fn default() -> Self {
        Self::available().next().unwrap_or(RuntimeKind::Tokio)
    }
}

impl fmt::Display for RuntimeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RuntimeKind {
    type Err = UnknownRuntime;

    fn from_str(name: &str) -> Result<Self, UnknownRuntime> {
        RuntimeKind::available()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownRuntime { name: name.into() })
    }
}

/// The name of a runtime that does not exist or is not compiled in. The text lists the available
/// ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRuntime {
    name: String,
}

impl fmt::Display for UnknownRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "runtime \"{}\" is unknown or not compiled in (compiled in: {})",
            self.name,
            RuntimeKind::available_names()
        )
    }
}

impl error::Error for UnknownRuntime {}
