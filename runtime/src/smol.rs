// SPDX-License-Identifier: MIT OR Apache-2.0
//! The smol backend: async-executor for the tasks, the reactor of async-io for sockets and timers.
//!
//! Threads of an own runtime: `zonda-net-N`, which run the tasks and wait for events in turns; none for an executor of
//! the application. Beside them the process has one thread `async-io`; see [`crate::async_io`]. Dropping the last clone
//! tells the own threads to end and waits for nothing, so it is legal anywhere, also in its own tasks.

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

/// An executor of smol's kind: an own one with its threads, or the application's.
///
/// Tasks that hold a clone keep an own runtime alive until they end.
#[derive(Clone)]
pub struct SmolRuntime {
    executor: Arc<Executor<'static>>,
    /// Each own thread waits for the end of one of these; none for the application's executor.
    _stop: Arc<Vec<oneshot::Sender<()>>>,
}

impl SmolRuntime {
    /// Whether the backend is compiled in: yes.
    pub const COMPILED_IN: bool = true;

    /// Starts threads named `zonda-net-N` (the prefix is an option), by default one. With more of them, tasks that are
    /// busy at the same time run beside each other, but whichever thread hears of an event most often wakes another for
    /// it, which doubles the round trip of a link that has nothing else to do.
    ///
    /// # Errors
    /// Those of the system, for example when no thread is left; see also [`crate::AnyRuntime::start`].
    pub fn start(options: &RuntimeOptions) -> io::Result<Self> {
        let placement = Placement::check(options)?;
        // Has the process's reactor started here, so that its thread does not inherit the placement of ours.
        async_io::start_reactor()?;
        let executor = Arc::new(Executor::new());
        let threads = options.threads.unwrap_or(1).max(1);
        // After an error, dropping the senders ends the threads that exist already.
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
    /// Tasks advance while some thread of the application runs the executor (`executor.run(..)`). If none does, nothing
    /// that needs a task advances: nothing is accepted, received or kept alive, and callers that wait for it go on waiting.
    pub fn from_executor(executor: Arc<Executor<'static>>) -> Self {
        SmolRuntime {
            executor,
            _stop: Arc::new(Vec::new()),
        }
    }

    /// The executor underneath.
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
