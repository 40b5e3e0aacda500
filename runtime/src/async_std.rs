// SPDX-License-Identifier: MIT OR Apache-2.0
//! The async-std backend: tasks on the process-wide executor of async-std, sockets and timers as
//! for smol. async-std is discontinued (RUSTSEC-2025-0052): the backend is for programs that still
//! use it; new ones use smol.
//!
//! Threads: those of async-std, `async-std/runtime` by default, one per core or as many as the
//! environment variable `ASYNC_STD_THREAD_COUNT` sets (1 has the shortest round trips), and
//! `async-io`; see [`crate::async_io`]. They belong to the process and are never stopped.

use std::future::Future;
use std::io;

use crate::async_io::{self, sockets_and_timers};
use crate::contained::contained;
use crate::{Runtime, RuntimeOptions, Scheduling};

/// async-std's executor. There is one per process, so all values are equal, and dropping one does
/// nothing: tasks run to their end.
#[derive(Debug, Clone)]
pub struct AsyncStdRuntime(());

impl AsyncStdRuntime {
    /// Compile-time flag: the backend is compiled in.
    pub const COMPILED_IN: bool = true;

    /// Uses async-std's executor, which starts its threads with the first task. The options for the
    /// number of threads and their name are ignored.
    ///
    /// # Errors
    /// Fails with [`io::ErrorKind::InvalidInput`] for cpus or a scheduling class: the threads
    /// belong to async-std.
    pub fn start(options: &RuntimeOptions) -> io::Result<Self> {
        if !options.cpus.is_empty() || options.scheduling != Scheduling::Inherit {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the threads belong to async-std, so their cpus and scheduling cannot be set: leave both out, or use smol",
            ));
        }
        async_io::start_reactor()?;
        Ok(AsyncStdRuntime(()))
    }
}

impl Runtime for AsyncStdRuntime {
    sockets_and_timers!();

    fn name(&self) -> &'static str {
        "async-std"
    }

    fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        drop(::async_std::task::spawn(contained(task, make)));
    }
}
