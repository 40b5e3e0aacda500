// SPDX-License-Identifier: MIT OR Apache-2.0
//! Common parts of the backends `smol` and `async-std`: sockets and timers on the reactor of the
//! crate async-io.
//!
//! There is one reactor per process, owned by no runtime: a socket registered with it works in
//! tasks of any executor and on any thread. The reactor starts one thread, `async-io`, which waits
//! for events whenever no executor thread does, and runs until the process ends.

mod stream;
mod yield_budget;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ::async_io::{Async, Timer};
use socket2::Socket;

pub use self::stream::{ReactorRead, ReactorWrite};
pub use self::stream::{join, split};
use crate::yielding::yield_now;
use crate::{Origin, PreciseTimer};

/// Initialises the process's reactor.
///
/// # Errors
/// Fails in a process that was forked after its parent used the reactor: the two would take each
/// other's events.
pub fn start_reactor() -> io::Result<()> {
    static ORIGIN: OnceLock<Origin> = OnceLock::new();
    if ORIGIN.get_or_init(Origin::here).is_elsewhere() {
        return Err(io::Error::other(
            "this process was forked off while smol or async-std was in use: take another runtime, or fork before",
        ));
    }
    ::async_io::block_on(async {});
    Ok(())
}

/// Items of a [`Runtime`](crate::Runtime) implementation on this reactor, without its name and its
/// tasks.
macro_rules! sockets_and_timers {
    () => {
        type Read = $crate::async_io::ReactorRead;
        type Write = $crate::async_io::ReactorWrite;
        type Listener = $crate::async_io::ReactorListener;
        type Timer = $crate::async_io::ReactorTimer;

        fn block_on<F: std::future::Future>(&self, future: F) -> F::Output {
            $crate::park::block_on(future)
        }

        fn adopt_shared(
            &self,
            stream: std::sync::Arc<socket2::Socket>,
        ) -> std::io::Result<(
            $crate::async_io::ReactorRead,
            $crate::async_io::ReactorWrite,
        )> {
            $crate::async_io::adopt(stream)
        }

        fn release(
            &self,
            read: $crate::async_io::ReactorRead,
            write: $crate::async_io::ReactorWrite,
        ) -> std::io::Result<std::sync::Arc<socket2::Socket>> {
            $crate::async_io::join(read, write)
        }

        async fn connect(
            &self,
            socket: socket2::Socket,
            to: std::net::SocketAddr,
        ) -> std::io::Result<socket2::Socket> {
            $crate::async_io::connect(socket, to).await
        }

        fn listen(
            &self,
            listener: socket2::Socket,
        ) -> std::io::Result<$crate::async_io::ReactorListener> {
            $crate::async_io::listen(listener)
        }

        async fn accept(
            &self,
            listener: &mut $crate::async_io::ReactorListener,
        ) -> std::io::Result<(socket2::Socket, Option<std::net::SocketAddr>)> {
            $crate::async_io::accept(listener).await
        }

        async fn take_from<T: Send, F: FnMut() -> std::io::Result<T> + Send>(
            &self,
            listener: &mut $crate::async_io::ReactorListener,
            take: F,
        ) -> std::io::Result<T> {
            $crate::async_io::take(listener, take).await
        }

        async fn resolve(
            &self,
            host: String,
            port: u16,
        ) -> std::io::Result<Vec<std::net::SocketAddr>> {
            $crate::resolve::resolve(host, port).await
        }

        async fn sleep_until(&self, deadline: std::time::Instant) {
            $crate::async_io::sleep_until(deadline).await;
        }

        async fn yield_now(&self) {
            $crate::async_io::pause().await;
        }

        fn precise_timer(&self) -> $crate::async_io::ReactorTimer {
            $crate::async_io::timer()
        }
    };
}

pub(crate) use sockets_and_timers;

/// A listening socket on the reactor of async-io.
#[derive(Debug)]
pub struct ReactorListener(Async<Socket>);

/// A timer for short waits, about 15 us late on Linux, which holds no resource between waits.
#[derive(Debug)]
pub struct ReactorTimer(());

pub fn timer() -> ReactorTimer {
    ReactorTimer(())
}

impl PreciseTimer for ReactorTimer {
    async fn wait(&mut self, delay: Duration) {
        if delay.is_zero() {
            return yield_now().await;
        }
        Timer::after(delay).await;
    }
}

/// A pause that only the reactor ends, so that it polls the sockets first: an executor of this kind
/// runs hundreds of ready tasks before it polls the reactor.
const PAUSE: Duration = Duration::from_micros(20);

pub async fn pause() {
    Timer::after(PAUSE).await;
}

pub async fn sleep_until(deadline: Instant) {
    Timer::at(deadline).await;
}

pub fn adopt(stream: Arc<Socket>) -> io::Result<(ReactorRead, ReactorWrite)> {
    Ok(split(Async::new(stream)?))
}

/// Connects an existing socket.
pub async fn connect(socket: Socket, to: SocketAddr) -> io::Result<Socket> {
    socket.set_nonblocking(true)?;
    match socket.connect(&to.into()) {
        Err(error) if !is_under_way(&error) => return Err(error),
        _ => {}
    }
    let socket = Async::new_nonblocking(socket)?;
    socket.writable().await?;
    if let Some(error) = socket.get_ref().take_error()? {
        return Err(error);
    }
    socket.into_inner()
}

/// The error of a non-blocking connect that has started, on Unix.
#[cfg(unix)]
const IN_PROGRESS: i32 = rustix::io::Errno::INPROGRESS.raw_os_error();
/// No code on other systems, which report [`io::ErrorKind::WouldBlock`].
#[cfg(not(unix))]
const IN_PROGRESS: i32 = i32::MIN;

/// Returns true if a non-blocking connect has started and the caller must wait for its end.
fn is_under_way(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(IN_PROGRESS)
}

pub fn listen(listener: Socket) -> io::Result<ReactorListener> {
    Async::new(listener).map(ReactorListener)
}

/// Accepts one connection. The connection leaves the queue only when it is returned, so a cancelled
/// wait loses none.
pub async fn accept(listener: &mut ReactorListener) -> io::Result<(Socket, Option<SocketAddr>)> {
    let (stream, from) = listener.0.read_with(Socket::accept).await?;
    stream.set_nonblocking(true)?;
    Ok((stream, from.as_socket()))
}

/// Calls `take` until it returns something other than `WouldBlock`.
pub async fn take<T>(
    listener: &mut ReactorListener,
    mut take: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    listener.0.read_with(|_| take()).await
}
