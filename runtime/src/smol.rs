// SPDX-License-Identifier: MIT OR Apache-2.0
//! The smol backend: async-executor for the tasks, the reactor of async-io for sockets and timers.
//!
//! Threads of an own runtime: `zonda-net-N`, which run the tasks and wait for events in turns; none
//! for an executor of the application. In addition the process has one thread `async-io`; see
//! [`crate::async_io`]. Dropping the last clone signals the own threads to end and does not wait,
//! so it is legal anywhere, also in the runtime's own tasks.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread;

use async_executor::Executor;

use crate::async_io::{self, sockets_and_timers};
use crate::contained::contained;
use crate::placement::Placement;
use crate::{Runtime, RuntimeOptions, oneshot};

/// An executor of smol's kind: one of its own with its threads, or the application's.
///
/// Tasks that hold a clone keep an own runtime alive until they end.
#[derive(Clone)]
pub struct SmolRuntime {
    executor: Arc<Executor<'static>>,
    /// Stop signals: each own thread ends when its sender is dropped; none for the application's
    /// executor.
    _stop: Arc<Vec<oneshot::Sender<()>>>,
}

impl SmolRuntime {
    /// Compile-time flag: the backend is compiled in.
    pub const COMPILED_IN: bool = true;

    /// Starts threads named `zonda-net-N` (the prefix is an option), by default one. With more
    /// threads, busy tasks run in parallel, but the thread that receives an event most often wakes
    /// another one for it, which doubles the round trip of a link that is otherwise idle.
    ///
    /// # Errors
    /// Returns the system's error, for example when no thread is left; see also
    /// [`crate::AnyRuntime::start`].
    pub fn start(options: &RuntimeOptions) -> io::Result<Self> {
        let placement = Placement::check(options)?;
        // start the reactor here, so that its thread does not inherit the placement of these
        // threads
        async_io::start_reactor()?;
        let executor = Arc::new(Executor::new());
        let threads = options.threads.unwrap_or(1).max(1);
        // after an error, dropping the senders ends the threads that were started
        let mut stop = Vec::with_capacity(threads);
        for number in 0..threads {
            let (sender, stopped) = oneshot::channel::<()>();
            stop.push(sender);
            let (executor, placement) = (executor.clone(), placement.clone());
            thread::Builder::new()
                .name(format!("{}-{number}", options.thread_name))
                .spawn(move || {
                    placement.apply();
                    ::async_io::block_on(executor.run(stopped));
                })?;
        }
        Ok(SmolRuntime {
            executor,
            _stop: Arc::new(stop),
        })
    }

    /// Uses the application's executor; starts no thread but the reactor's, `async-io`.
    ///
    /// Tasks advance only while a thread of the application runs the executor (`executor.run(..)`).
    /// Otherwise no task advances: no connection is accepted, received from or kept alive, and
    /// callers that wait for a task wait for ever.
    pub fn from_executor(executor: Arc<Executor<'static>>) -> Self {
        SmolRuntime {
            executor,
            _stop: Arc::new(Vec::new()),
        }
    }

    /// Returns the underlying executor.
    pub fn executor(&self) -> &Arc<Executor<'static>> {
        &self.executor
    }
}

impl fmt::Debug for SmolRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SmolRuntime")
    }
}

impl Runtime for SmolRuntime {
    sockets_and_timers!();

    fn name(&self) -> &'static str {
        "smol"
    }

    fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.executor.spawn(contained(task, make)).detach();
    }
}
