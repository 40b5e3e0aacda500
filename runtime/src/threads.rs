// SPDX-License-Identifier: MIT OR Apache-2.0
//! The `threads` backend: blocking sockets, a thread for each task, no asynchronous runtime.
//!
//! Each task has a thread, named after the task with a number behind (`zonda-rx-0`). A read that is all its task waits
//! for is one recv(2) that waits in the kernel, so that a message needs no poller and no hand-over between threads:
//! `turn` says when that is so. Whenever something else may end the task's wait as well (a waker, a deadline, another
//! socket), the thread waits for all of it in poll(2), or parked if there is no socket. Thus futures compose here as
//! anywhere else.
//!
//! With [`RuntimeOptions::spin`], a read that would wait in the kernel asks without waiting for a while first. Between two
//! questions its thread lets others have the processor, so that on a full machine it does not take the time of those it
//! waits for.
//!
//! A thread whose task has ended stays for a second, and takes the next task of the same label.
//!
//! Two exceptions to a thread for each task: tasks started by [`Runtime::spawn_brief`] share one per label, and
//! futures of this backend that are polled by somebody else's executor, or parked for by [`crate::block_on`], have
//! their waiting done by one thread `zonda-wait`. Both kinds of thread end a second after they have nothing left to do.
//!
//! Dropping the last clone of the runtime tells all threads to end and shuts their sockets down; it waits for none.

mod bell;
mod core;
mod crowd;
mod idle;
mod stream;
mod task;
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
    /// Whether the backend is compiled in: yes.
    pub const COMPILED_IN: bool = true;

    /// A runtime without any thread yet. Of the options, those for each thread apply; [`RuntimeOptions::threads`] and
    /// [`RuntimeOptions::thread_name`] do not, since tasks decide about both.
    ///
    /// # Errors
    /// Those of an option that this system refuses.
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

/// A timer for short waits of the `threads` backend: the thread itself waits, late by some 15 us.
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
        // Nobody else holds it by now, except for a wait that is just being let go of.
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
