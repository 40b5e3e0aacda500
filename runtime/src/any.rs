// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of a runtime by value: its kind, its options, and an enum over the backends that are compiled in.

use std::future::Future;
use std::io;
use std::str::FromStr;
use std::time::Instant;
use std::{error, fmt};

use crate::{Runtime, TokioRuntime};

/// Which runtime to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuntimeKind {
    /// `tokio`: tokio with several worker threads.
    Tokio,
    /// `tokio-current`: tokio on one thread.
    TokioCurrent,
}

impl RuntimeKind {
    /// Every kind, with whether it is compiled in.
    const ALL: [(RuntimeKind, bool); 2] = [
        (RuntimeKind::Tokio, cfg!(feature = "tokio")),
        (RuntimeKind::TokioCurrent, cfg!(feature = "tokio")),
    ];

    /// The name it is chosen by on command lines and in configurations.
    pub fn name(self) -> &'static str {
        match self {
            RuntimeKind::Tokio => "tokio",
            RuntimeKind::TokioCurrent => "tokio-current",
        }
    }

    /// The kinds that are compiled in.
    pub fn available() -> impl Iterator<Item = RuntimeKind> {
        Self::ALL
            .into_iter()
            .filter(|(_, compiled)| *compiled)
            .map(|(kind, _)| kind)
    }
}

/// `tokio`, whether or not it is compiled in: [`AnyRuntime::start`] tells.
impl Default for RuntimeKind {
    fn default() -> Self {
        RuntimeKind::Tokio
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

/// The name of a runtime that does not exist or is not compiled in. The text lists those that are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownRuntime {
    name: String,
}

impl fmt::Display for UnknownRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = RuntimeKind::available().map(RuntimeKind::name).collect();
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        write!(
            f,
            "runtime \"{}\" is unknown or not compiled in (compiled in: {known})",
            self.name
        )
    }
}

impl error::Error for UnknownRuntime {}

/// How to start a runtime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeOptions {
    /// Number of worker threads of a multi-thread runtime; `None` (default): one per available core. At least 1.
    pub threads: Option<usize>,
    /// Name of the one thread, or of the worker threads with `-N` appended. Default `zonda-net`.
    pub thread_name: String,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        RuntimeOptions {
            threads: None,
            thread_name: "zonda-net".to_owned(),
        }
    }
}

/// A runtime chosen when the program runs. Match on it once per link or task, and go on with the runtime inside.
#[derive(Clone)]
pub enum AnyRuntime {
    /// tokio, in any of its flavours; without the feature `tokio` such a value cannot exist.
    Tokio(TokioRuntime),
}

impl AnyRuntime {
    /// Starts an own runtime.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] when the kind is not compiled in, or the system's error when no thread or
    /// descriptor is left.
    pub fn start(kind: RuntimeKind, options: &RuntimeOptions) -> io::Result<AnyRuntime> {
        match kind {
            RuntimeKind::Tokio => TokioRuntime::start_multi_thread(options).map(AnyRuntime::Tokio),
            RuntimeKind::TokioCurrent => {
                TokioRuntime::start_current_thread(options).map(AnyRuntime::Tokio)
            }
        }
    }

    /// Uses the application's tokio runtime; see [`TokioRuntime::from_handle`].
    #[cfg(feature = "tokio")]
    pub fn from_tokio(handle: ::tokio::runtime::Handle) -> AnyRuntime {
        AnyRuntime::Tokio(TokioRuntime::from_handle(handle))
    }

    /// The runtime's name.
    pub fn name(&self) -> &'static str {
        match self {
            AnyRuntime::Tokio(runtime) => runtime.name(),
        }
    }

    /// See [`Runtime::spawn`].
    pub fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        match self {
            AnyRuntime::Tokio(runtime) => runtime.spawn(task, make),
        }
    }

    /// See [`Runtime::block_on`].
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self {
            AnyRuntime::Tokio(runtime) => runtime.block_on(future),
        }
    }

    /// See [`Runtime::sleep_until`].
    pub async fn sleep_until(&self, deadline: Instant) {
        match self {
            AnyRuntime::Tokio(runtime) => runtime.sleep_until(deadline).await,
        }
    }
}

impl fmt::Debug for AnyRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyRuntime({})", self.name())
    }
}
