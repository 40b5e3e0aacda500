// SPDX-License-Identifier: MIT OR Apache-2.0
//! The choice of a runtime by value: an enum over the backends, and the one place that takes it apart.

use std::fmt;
use std::future::Future;
use std::io;
use std::time::Instant;

use crate::{
    AsyncStdRuntime, Runtime, RuntimeKind, RuntimeOptions, SmolRuntime, ThreadsRuntime,
    TokioRuntime, UringRuntime, fallback,
};

/// A runtime chosen when the program runs. Match on it once per link or task
/// ([`crate::with_runtime!`]) and work with the runtime inside.
///
/// A variant whose feature is not compiled in holds [`crate::Absent`], and such a value cannot exist.
#[derive(Clone)]
pub enum AnyRuntime {
    /// tokio, in any of its flavours.
    Tokio(TokioRuntime),
    /// smol's executor, an own one or the application's.
    Smol(SmolRuntime),
    /// async-std's executor.
    AsyncStd(AsyncStdRuntime),
    /// Blocking sockets and a thread for each task.
    Threads(ThreadsRuntime),
    /// io_uring.
    Uring(UringRuntime),
}

/// Evaluates an expression with the runtime inside an [`AnyRuntime`], whatever its type; by value
/// or by reference, like the first operand. The expression is compiled once per backend and must
/// have the same type for each.
///
/// ```
/// use zonda_runtime::{AnyRuntime, Runtime, with_runtime};
///
/// fn name(runtime: &AnyRuntime) -> &'static str {
///     with_runtime!(runtime, inside => inside.name())
/// }
/// ```
#[macro_export]
macro_rules! with_runtime {
    ($any:expr, $runtime:ident => $body:expr) => {
        match $any {
            $crate::AnyRuntime::Tokio($runtime) => $body,
            $crate::AnyRuntime::Smol($runtime) => $body,
            $crate::AnyRuntime::AsyncStd($runtime) => $body,
            $crate::AnyRuntime::Threads($runtime) => $body,
            $crate::AnyRuntime::Uring($runtime) => $body,
        }
    };
}

impl AnyRuntime {
    /// Starts a new runtime.
    ///
    /// If the system refuses io_uring, another runtime is started with a warning, unless
    /// [`RuntimeOptions::uring_required`] is set.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] when the kind is not compiled in, [`io::ErrorKind::InvalidInput`] when an option
    /// does not fit the system or the kind, or the system's error when no thread or descriptor is left.
    pub fn start(kind: RuntimeKind, options: &RuntimeOptions) -> io::Result<AnyRuntime> {
        let runtime = match kind {
            RuntimeKind::Tokio => TokioRuntime::start_multi_thread(options).map(AnyRuntime::Tokio),
            RuntimeKind::TokioCurrent => {
                TokioRuntime::start_current_thread(options).map(AnyRuntime::Tokio)
            }
            RuntimeKind::Smol => SmolRuntime::start(options).map(AnyRuntime::Smol),
            RuntimeKind::AsyncStd => AsyncStdRuntime::start(options).map(AnyRuntime::AsyncStd),
            RuntimeKind::Threads => ThreadsRuntime::start(options).map(AnyRuntime::Threads),
            RuntimeKind::Uring => fallback::start_uring(options),
        }?;
        if !options.spin.is_zero() && !runtime.can_spin() {
            tracing::warn!(
                "runtime {} has no busy poll: runtime_spin_us has no effect (threads, tokio and tokio-current have it)",
                runtime.name()
            );
        }
        Ok(runtime)
    }

    /// Returns true if the runtime supports [`RuntimeOptions::spin`].
    fn can_spin(&self) -> bool {
        matches!(self, AnyRuntime::Tokio(_) | AnyRuntime::Threads(_))
    }

    /// Uses the application's tokio runtime; see [`TokioRuntime::from_handle`].
    #[cfg(feature = "tokio")]
    pub fn from_tokio(handle: ::tokio::runtime::Handle) -> AnyRuntime {
        AnyRuntime::Tokio(TokioRuntime::from_handle(handle))
    }

    /// Uses the application's executor; see [`SmolRuntime::from_executor`].
    #[cfg(feature = "smol")]
    pub fn from_smol(executor: std::sync::Arc<async_executor::Executor<'static>>) -> AnyRuntime {
        AnyRuntime::Smol(SmolRuntime::from_executor(executor))
    }

    /// Returns the runtime's name: the name of its kind; the application's tokio runtime is always
    /// `tokio`.
    pub fn name(&self) -> &'static str {
        with_runtime!(self, runtime => runtime.name())
    }

    /// Spawns a task; see [`Runtime::spawn`].
    pub fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        with_runtime!(self, runtime => runtime.spawn(task, make))
    }

    /// Runs a future on the calling thread; see [`Runtime::block_on`].
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        with_runtime!(self, runtime => runtime.block_on(future))
    }

    /// Sleeps until `deadline`; see [`Runtime::sleep_until`].
    pub async fn sleep_until(&self, deadline: Instant) {
        with_runtime!(self, runtime => runtime.sleep_until(deadline).await)
    }

    /// Returns true if only the calling thread drives the runtime; see
    /// [`Runtime::is_driven_here_only`].
    pub fn is_driven_here_only(&self) -> bool {
        with_runtime!(self, runtime => runtime.is_driven_here_only())
    }

    /// Returns true if the runtime is shut down; see [`Runtime::is_shut_down`].
    pub fn is_shut_down(&self) -> bool {
        with_runtime!(self, runtime => runtime.is_shut_down())
    }
}

impl fmt::Debug for AnyRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyRuntime({})", self.name())
    }
}
