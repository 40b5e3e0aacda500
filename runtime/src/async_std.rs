// SPDX-License-Identifier: MIT OR Apache-2.0
//! The async-std backend: tasks on the executor that async-std keeps for the whole process, sockets and timers as for
//! smol. async-std is discontinued (RUSTSEC-2025-0052): this is for programs that still use it; new ones take smol.
//!
//! Threads: those of async-std, `async-std/runtime` by default, one per core or as many as the environment variable
//! `ASYNC_STD_THREAD_COUNT` says (1 has the shortest round trips), and `async-io`; see [`crate::async_io`]. They belong to
//! the process and stay.

use std::future::Future;
use std::io;

use crate::async_io::{self, sockets_and_timers};
use crate::contained::contained;
use crate::{Runtime, RuntimeOptions, Scheduling};

/// async-std's executor. There is one in a process, so values are all alike, and dropping one does nothing: tasks run
/// to their end.
#[derive(Debug, Clone)]
pub struct AsyncStdRuntime(());

impl AsyncStdRuntime {
    /// Whether the backend is compiled in: yes.
    pub const COMPILED_IN: bool = true;

    /// Uses async-std's executor, which starts its threads with the first task. The number of threads and their name
    /// cannot be chosen here and are not looked at.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for cpus or a scheduling class: the threads are async-std's own.
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
