// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tokio backend: an own multi-thread runtime, an own thread with a current-thread runtime, or the application's.
//!
//! Threads: `zonda-net-N` (one per worker) for the first, one `zonda-net` for the second, none for
//! the third. Dropping the last clone signals an own runtime to stop and does not wait, so it is
//! legal anywhere, also in the runtime's own tasks.

#[cfg(target_os = "linux")]
#[path = "tokio/accept_at_once.rs"]
mod accepting;
#[cfg(all(unix, not(target_os = "linux")))]
#[path = "tokio/accept_in_steps.rs"]
mod accepting;
#[cfg(unix)]
mod listener;
#[cfg(not(unix))]
#[path = "tokio/listener_of_tokio.rs"]
mod listener;
#[cfg(unix)]
mod registered;
#[cfg(not(unix))]
#[path = "tokio/registered_twice.rs"]
mod registered;
mod stream;
#[cfg(not(target_os = "linux"))]
#[path = "tokio/timer_coarse.rs"]
mod timer;
#[cfg(target_os = "linux")]
#[path = "tokio/timer_linux.rs"]
mod timer;

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::thread;
use std::time::Instant;

use ::tokio::runtime::{Builder, Handle};
use socket2::Socket;

pub use self::listener::TokioListener;
use self::registered::Registered;
pub use self::stream::{TokioRead, TokioWrite};
pub use self::timer::TokioTimer;
use crate::placement::Placement;
use crate::spin::Spin;
use crate::{Runtime, RuntimeOptions, oneshot, park, resolve};

/// A tokio runtime: one of its own, or the application's.
///
/// Tasks that hold a clone keep an own runtime alive until they end.
#[derive(Clone)]
pub struct TokioRuntime {
    handle: Handle,
    name: &'static str,
    /// The busy poll; none on the application's runtime.
    spin: Spin,
    /// Stops the runtime when the last clone is dropped; `None` for the application's.
    _owner: Option<Arc<Owner>>,
}

/// The owner of a runtime, which ends when it is dropped.
enum Owner {
    /// The runtime; `None` only during the drop.
    MultiThread(Option<::tokio::runtime::Runtime>),
    /// The thread ends when this sender is dropped.
    CurrentThread { _stop: oneshot::Sender<()> },
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Owner::MultiThread(runtime) = self {
            // does not wait, unlike the drop of tokio's runtime, which may block and panics inside
            // async code
            runtime
                .take()
                .into_iter()
                .for_each(::tokio::runtime::Runtime::shutdown_background);
        }
    }
}

impl TokioRuntime {
    /// Compile-time flag: the backend is compiled in.
    pub const COMPILED_IN: bool = true;

    /// Starts worker threads named `zonda-net-N` (the prefix is an option), by default one per available core.
    ///
    /// # Errors
    /// Returns the system's error, for example when no thread or descriptor is left.
    pub fn start_multi_thread(options: &RuntimeOptions) -> io::Result<Self> {
        let placement = Placement::check(options)?;
        let (prefix, next) = (options.thread_name.clone(), AtomicUsize::new(0));
        let mut builder = Builder::new_multi_thread();
        builder
            .thread_name_fn(move || format!("{prefix}-{}", next.fetch_add(1, Ordering::Relaxed)));
        if let Some(threads) = options.threads {
            builder.worker_threads(threads.max(1));
        }
        if !placement.is_default() {
            builder.on_thread_start(move || placement.apply());
        }
        let runtime = builder.enable_io().enable_time().build()?;
        let handle = runtime.handle().clone();
        Ok(TokioRuntime {
            handle,
            name: "tokio",
            spin: Spin::new(options.spin),
            _owner: Some(Arc::new(Owner::MultiThread(Some(runtime)))),
        })
    }

    /// Starts one thread, named `zonda-net`, that does all the work.
    ///
    /// # Errors
    /// Returns the system's error, for example when no thread or descriptor is left.
    pub fn start_current_thread(options: &RuntimeOptions) -> io::Result<Self> {
        let placement = Placement::check(options)?;
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new()
            .name(options.thread_name.clone())
            .spawn(move || {
                placement.apply();
                runtime.block_on(stopped);
                runtime.shutdown_background();
            })?;
        let owner = Arc::new(Owner::CurrentThread { _stop: stop });
        Ok(TokioRuntime {
            handle,
            name: "tokio-current",
            spin: Spin::new(options.spin),
            _owner: Some(owner),
        })
    }

    /// Uses the application's runtime, multi-thread or current-thread; starts no thread.
    ///
    /// Its I/O and time drivers must be enabled (`enable_all`), and it must be running for tasks to advance: on a
    /// current-thread runtime that is while the application is inside its `block_on`.
    pub fn from_handle(handle: Handle) -> Self {
        TokioRuntime {
            handle,
            name: "tokio",
            spin: Spin::default(),
            _owner: None,
        }
    }

    /// Returns the handle of the underlying runtime.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Returns true if the calling thread is polling a task of this runtime.
    fn is_current(&self) -> bool {
        Handle::try_current().is_ok_and(|current| current.id() == self.handle.id())
    }
}

/// Polls `future` in the runtime's tokio context, on whatever thread polls it.
async fn within<F: Future>(handle: &Handle, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _context = handle.enter();
        future.as_mut().poll(context)
    })
    .await
}

/// A drop guard that logs a panic of its task. tokio has already contained it.
struct PanicReport(&'static str);

impl Drop for PanicReport {
    fn drop(&mut self) {
        if thread::panicking() {
            tracing::error!("task {} panicked and ended; all others continue", self.0);
        }
    }
}

impl Runtime for TokioRuntime {
    type Read = TokioRead;
    type Write = TokioWrite;
    type Listener = TokioListener;
    type Timer = TokioTimer;

    fn name(&self) -> &'static str {
        self.name
    }

    fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        drop(self.handle.spawn(async move {
            let _report = PanicReport(task);
            make().await;
        }));
    }

    fn is_shut_down(&self) -> bool {
        // a runtime that is shut down drops a new task at once, without running it
        let (sender, mut dropped) = oneshot::channel::<()>();
        let ran = Arc::new(AtomicBool::new(false));
        let runs = ran.clone();
        drop(self.handle.spawn(async move {
            runs.store(true, Ordering::Release);
            drop(sender);
        }));
        let mut context = Context::from_waker(Waker::noop());
        let ended = Pin::new(&mut dropped).poll(&mut context).is_ready();
        ended && !ran.load(Ordering::Acquire)
    }

    fn is_driven_here_only(&self) -> bool {
        self.is_current() && self.handle.metrics().num_workers() == 1
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        // The context is not entered: `sleep_until` would conclude that the runtime outlives the
        // wait. Inside a task, tokio's budget could run out and the wait would spin for ever, so it
        // is unconstrained.
        park::block_on(::tokio::task::coop::unconstrained(future))
    }

    fn adopt_shared(&self, stream: Arc<Socket>) -> io::Result<(TokioRead, TokioWrite)> {
        stream.set_nonblocking(true)?;
        let registered = Registered::new(stream, &self.handle)?;
        Ok(stream::split(registered, self.spin))
    }

    fn release(&self, read: TokioRead, write: TokioWrite) -> io::Result<Arc<Socket>> {
        stream::join(read, write).map(Registered::into_inner)
    }

    async fn connect(&self, socket: Socket, to: SocketAddr) -> io::Result<Socket> {
        socket.set_nonblocking(true)?;
        let socket = ::tokio::net::TcpSocket::from_std_stream(socket.into());
        let stream = within(&self.handle, socket.connect(to)).await?;
        stream.into_std().map(Socket::from)
    }

    fn listen(&self, listener: Socket) -> io::Result<TokioListener> {
        listener.set_nonblocking(true)?;
        TokioListener::register(listener, &self.handle)
    }

    async fn accept(
        &self,
        listener: &mut TokioListener,
    ) -> io::Result<(Socket, Option<SocketAddr>)> {
        within(&self.handle, listener.accept()).await
    }

    async fn take_from<T: Send, F: FnMut() -> io::Result<T> + Send>(
        &self,
        listener: &mut TokioListener,
        take: F,
    ) -> io::Result<T> {
        within(&self.handle, listener.take(take)).await
    }

    async fn resolve(&self, host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
        resolve::resolve(host, port).await
    }

    async fn sleep_until(&self, deadline: Instant) {
        let deadline = ::tokio::time::Instant::from_std(deadline);
        if self.is_current() {
            return ::tokio::time::sleep_until(deadline).await;
        }
        // tokio's sleep panics when it is polled after the shutdown of its runtime. A task of that
        // runtime is only dropped then, so elsewhere the sleep runs as such a task, and its end
        // counts as the end of the wait.
        let sleep = self
            .handle
            .spawn(async move { ::tokio::time::sleep_until(deadline).await });
        drop(AbortOnDrop(sleep).await);
    }

    async fn yield_now(&self) {
        // Unlike a task that wakes itself, this one runs again only after the drivers have been
        // polled.
        ::tokio::task::yield_now().await;
    }

    fn precise_timer(&self) -> TokioTimer {
        let _context = self.handle.enter();
        TokioTimer::new(self.clone())
    }
}

/// A task that is aborted when its waiter is dropped.
struct AbortOnDrop(::tokio::task::JoinHandle<()>);

impl Future for AbortOnDrop {
    type Output = Result<(), ::tokio::task::JoinError>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(context)
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
