// SPDX-License-Identifier: MIT OR Apache-2.0
//! The io_uring backend: Linux completion I/O through compio's driver, with its own tasks and
//! timers.
//!
//! Threads: `zonda-net-N`, one per core or as many as the options set, each with a ring, a queue of
//! tasks and its deadlines. A task stays on the thread that it was assigned to, the least busy one;
//! sockets belong to no thread, since any ring can work on any descriptor. A callback that blocks
//! holds up the tasks of its thread, which is assigned no new ones until then. The threads end when
//! the last clone of the runtime is dropped; the drop does not wait for them.
//!
//! A ring is used only after it has passed a test with real messages, so that an old kernel, a
//! sandbox or a limit is found when the runtime starts, and not on the first link. There is no
//! silent fallback to polling.

mod listener;
mod operation;
mod ring;
mod self_test;
mod shard;
mod sleep;
mod start;
mod stream;
mod task;
mod worker;

use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use compio::driver::op::Connect;
use socket2::Socket;

pub use self::listener::UringListener;
use self::operation::Operation;
use self::shard::Shard;
use self::sleep::Sleep;
use self::start::Shards;
pub use self::stream::{UringRead, UringWrite};
use crate::contained::contained;
use crate::{PreciseTimer, Runtime, RuntimeOptions, park, resolve, yielding};

/// A runtime on io_uring. Tasks that hold a clone keep it alive until they end.
#[derive(Clone)]
pub struct UringRuntime(Arc<Pool>);

struct Pool {
    shards: Shards,
    /// Start of the search for the least busy shard; it rotates, so that equally busy ones take
    /// turns.
    next: AtomicUsize,
}

impl UringRuntime {
    /// Compile-time flag: the backend is compiled in.
    pub const COMPILED_IN: bool = true;

    /// Starts threads named `zonda-net-N` (the prefix is an option), by default one per available core.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] with the reason why io_uring cannot be used and advice;
    /// [`io::ErrorKind::InvalidInput`] for options that do not fit the system.
    ///
    /// # Blocking
    /// Blocks for a few milliseconds, while each thread tests its ring.
    pub fn start(options: &RuntimeOptions) -> io::Result<Self> {
        Ok(UringRuntime(Arc::new(Pool {
            shards: Shards::start(options)?,
            next: AtomicUsize::new(0),
        })))
    }

    /// Checks that this process may use io_uring now, with every operation that the backend needs.
    ///
    /// # Errors
    /// Fails like [`UringRuntime::start`].
    pub fn probe() -> io::Result<()> {
        start::probe()
    }

    /// Returns the shard with the fewest tasks, preferring those that no task holds up.
    fn idlest(&self) -> Arc<Shard> {
        let shards = self.0.shards.all();
        let first = self.0.next.fetch_add(1, Ordering::Relaxed) % shards.len();
        let (before, from) = shards.split_at(first);
        let idlest = from
            .iter()
            .chain(before)
            .min_by_key(|shard| (is_held_up(shard), shard.load()));
        Arc::clone(idlest.unwrap_or(&shards[first]))
    }

    /// Returns the calling thread's own shard, or else the least busy one.
    fn nearest(&self) -> Arc<Shard> {
        let pool = self.0.shards.all()[0].pool();
        worker::here(pool)
            .filter(|_| !park::is_waiting())
            .unwrap_or_else(|| self.idlest())
    }
}

/// Returns true if a task is known to hold up the shard's thread.
fn is_held_up(shard: &Arc<Shard>) -> bool {
    shard.is_stuck() || (park::is_waiting() && worker::is_here(shard))
}

impl fmt::Debug for UringRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UringRuntime({} threads)", self.0.shards.all().len())
    }
}

impl Runtime for UringRuntime {
    type Read = UringRead;
    type Write = UringWrite;
    type Listener = UringListener;
    type Timer = UringTimer;

    fn name(&self) -> &'static str {
        "uring"
    }

    fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.idlest().spawn(contained(task, make));
    }

    fn is_driven_here_only(&self) -> bool {
        let shards = self.0.shards.all();
        shards.len() == 1 && worker::is_here(&shards[0])
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        park::block_on(future)
    }

    fn adopt_shared(&self, stream: Arc<Socket>) -> io::Result<(UringRead, UringWrite)> {
        stream::split(stream, &self.nearest())
    }

    fn release(&self, read: UringRead, write: UringWrite) -> io::Result<Arc<Socket>> {
        stream::join(read, write)
    }

    async fn connect(&self, socket: Socket, to: SocketAddr) -> io::Result<Socket> {
        // In the ring only a blocking socket waits for the peer's answer.
        socket.set_nonblocking(false)?;
        let socket = Arc::new(socket);
        let connect = Connect::new(Arc::clone(&socket), to.into());
        Operation::new(&self.nearest(), connect).await.0?;
        let socket = Arc::try_unwrap(socket).or_else(|shared| shared.try_clone())?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    fn listen(&self, listener: Socket) -> io::Result<UringListener> {
        UringListener::new(listener, self.nearest())
    }

    async fn accept(
        &self,
        listener: &mut UringListener,
    ) -> io::Result<(Socket, Option<SocketAddr>)> {
        listener.accept().await
    }

    async fn take_from<T: Send, F: FnMut() -> io::Result<T> + Send>(
        &self,
        listener: &mut UringListener,
        take: F,
    ) -> io::Result<T> {
        listener.take(take).await
    }

    async fn resolve(&self, host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
        resolve::resolve(host, port).await
    }

    async fn sleep_until(&self, deadline: Instant) {
        Sleep::new(self.nearest(), deadline).await;
    }

    async fn yield_now(&self) {
        let mut yielded = false;
        poll_fn(|context| {
            if mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            let waker = context.waker();
            // A thread that is parked in a callback does not return to its ring.
            if park::is_waiting() || !worker::wake_behind_completions(waker) {
                waker.wake_by_ref();
            }
            Poll::Pending
        })
        .await;
    }

    fn precise_timer(&self) -> UringTimer {
        UringTimer(self.nearest())
    }
}

/// A timer for short waits, about 35 us late, without a descriptor: the ring's wait takes
/// nanoseconds.
pub struct UringTimer(Arc<Shard>);

impl PreciseTimer for UringTimer {
    async fn wait(&mut self, delay: Duration) {
        if delay.is_zero() {
            return yielding::yield_now().await;
        }
        Sleep::new(Arc::clone(&self.0), crate::after(delay)).await;
    }
}
