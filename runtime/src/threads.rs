// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `threads` backend: blocking sockets, a thread for each task, no asynchronous runtime.
//!
//! Each task has a thread, named after the task with a number appended (`zonda-rx-0`). If a read is
//! the only thing a task waits for, it is one recv(2) that blocks in the kernel, so a message needs
//! no poller and no hand-over between threads: `turn` decides when that holds. If anything else may
//! end the task's wait (a waker, a deadline, another socket), the thread waits for all of it in
//! poll(2), or parked if there is no socket. Thus futures compose as on any other runtime.
//!
//! With [`RuntimeOptions::spin`], a read that would block in the kernel first polls its socket for
//! a while. Between two polls its thread yields the processor, so that on a fully loaded machine it
//! does not take the time of the threads it waits for.
//!
//! A thread whose task has ended waits for a second for the next task of the same label.
//!
//! Two exceptions to one thread for each task: tasks started by [`Runtime::spawn_brief`] share one
//! per label, and for futures of this backend that another executor polls, or that
//! [`crate::block_on`] runs, one thread `zonda-wait` does the waiting. Both kinds of thread end a
//! second after their last work.
//!
//! Dropping the last clone of the runtime signals all threads to end and shuts their sockets down;
//! it waits for none.

mod core;
mod idle;
mod shared_thread;
mod stream;
mod task;
mod thread_waker;
mod turn;
mod wait;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use socket2::Socket;

use self::core::Core;
pub use self::stream::{ThreadsRead, ThreadsWrite};
use self::wait::Source;
use crate::placement::Placement;
use crate::spin::Spin;
use crate::{PreciseTimer, Runtime, RuntimeOptions, resolve};

/// Blocking sockets and a thread for each task.
///
/// Tasks that hold a clone keep the runtime alive until they end.
#[derive(Clone)]
pub struct ThreadsRuntime {
    core: Arc<Core>,
    _owner: Arc<Owner>,
}

/// Stops the runtime when the last clone is dropped.
struct Owner(Arc<Core>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl ThreadsRuntime {
    /// Compile-time flag: the backend is compiled in.
    pub const COMPILED_IN: bool = true;

    /// Creates a runtime without any thread yet. The options for each thread apply;
    /// [`RuntimeOptions::threads`] and [`RuntimeOptions::thread_name`] do not, because tasks
    /// determine both.
    ///
    /// # Errors
    /// Returns the error of an option that this system refuses.
    pub fn start(options: &RuntimeOptions) -> io::Result<Self> {
        let core = Core::new(Placement::check(options)?, Spin::new(options.spin));
        let core = Arc::new(core);
        let owner = Arc::new(Owner(Arc::clone(&core)));
        Ok(ThreadsRuntime {
            core,
            _owner: owner,
        })
    }
}

/// A listening socket of the `threads` backend.
pub struct ThreadsListener {
    socket: Arc<Socket>,
}

/// A timer for short waits of the `threads` backend: the thread itself waits, about 15 us late.
pub struct ThreadsTimer {
    core: Arc<Core>,
}

impl PreciseTimer for ThreadsTimer {
    async fn wait(&mut self, delay: Duration) {
        if delay.is_zero() {
            return wait::yield_now().await;
        }
        wait::sleep_until(&self.core, crate::after(delay)).await;
    }
}

impl Runtime for ThreadsRuntime {
    type Read = ThreadsRead;
    type Write = ThreadsWrite;
    type Listener = ThreadsListener;
    type Timer = ThreadsTimer;

    fn name(&self) -> &'static str {
        "threads"
    }

    fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.core.spawn(task, make);
    }

    fn spawn_brief<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.core.spawn_brief(task, make);
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        match task::run(None, future) {
            Some(output) => output,
            None => unreachable!("only a runtime that stops ends the wait early"),
        }
    }

    fn adopt_shared(&self, stream: Arc<Socket>) -> io::Result<(ThreadsRead, ThreadsWrite)> {
        stream::split(&self.core, stream)
    }

    fn release(&self, read: ThreadsRead, write: ThreadsWrite) -> io::Result<Arc<Socket>> {
        stream::join(read, write)
    }

    async fn connect(&self, socket: Socket, to: SocketAddr) -> io::Result<Socket> {
        let socket = wait::connect(&self.core, Arc::new(socket), to).await?;
        // no other owner is left, except for a wait that is about to release it
        Arc::try_unwrap(socket).or_else(|shared| shared.try_clone())
    }

    fn listen(&self, listener: Socket) -> io::Result<ThreadsListener> {
        listener.set_nonblocking(true)?;
        let socket = Arc::new(listener);
        Ok(ThreadsListener { socket })
    }

    async fn accept(
        &self,
        listener: &mut ThreadsListener,
    ) -> io::Result<(Socket, Option<SocketAddr>)> {
        let socket = &listener.socket;
        let source = Source {
            socket,
            flags: PollFlags::IN,
        };
        let accepted = wait::call(&self.core, source, true, |_| socket.accept());
        let (stream, from) = accepted.await?;
        Ok((stream, from.as_socket()))
    }

    async fn take_from<T: Send, F: FnMut() -> io::Result<T> + Send>(
        &self,
        listener: &mut ThreadsListener,
        mut take: F,
    ) -> io::Result<T> {
        let source = Source {
            socket: &listener.socket,
            flags: PollFlags::IN,
        };
        wait::call(&self.core, source, true, |_| take()).await
    }

    async fn resolve(&self, host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
        resolve::resolve(host, port).await
    }

    async fn sleep_until(&self, deadline: Instant) {
        wait::sleep_until(&self.core, deadline).await;
    }

    fn precise_timer(&self) -> ThreadsTimer {
        ThreadsTimer {
            core: Arc::clone(&self.core),
        }
    }
}

#[cfg(test)]
mod tests;
