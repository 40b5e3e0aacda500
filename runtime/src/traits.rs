// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface between Zonda and a runtime: the operations that drivers, dialers and listeners
//! need.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use socket2::Socket;

use crate::{RxBuf, Segments};

/// The receiving half of a stream.
pub trait LinkRead: Send + 'static {
    /// Reads once, appending to the buffer's spare part, and returns the buffer.
    ///
    /// `Ok(0)` is the end of the stream. A buffer without spare part is refused with
    /// [`io::ErrorKind::InvalidInput`], so that it cannot be mistaken for the end.
    ///
    /// # Cancel safety
    /// None: if the future is dropped before it is ready, the link must be closed. To bound a wait,
    /// shut the socket down from another task, or close the link.
    fn read(&mut self, buf: RxBuf) -> impl Future<Output = (io::Result<usize>, RxBuf)> + Send;
}

/// The sending half of a stream.
pub trait LinkWrite: Send + 'static {
    /// Writes all segments in order, several per system call, and returns them.
    ///
    /// # Errors
    /// Returns the socket's error; the number of bytes taken before is unknown, so the link is no
    /// longer usable.
    ///
    /// # Cancel safety
    /// None: if the future is dropped before it is ready, part of the bytes may have been sent.
    fn write_all<S: Segments>(
        &mut self,
        segments: S,
    ) -> impl Future<Output = (io::Result<()>, S)> + Send;

    /// Writes the last segments, right before the stream is closed. A backend that queues writes
    /// passes these to the socket at once, as far as the socket takes them: the peer then wakes up
    /// once, for the bytes and for the end.
    ///
    /// # Errors
    /// As [`LinkWrite::write_all`].
    ///
    /// # Cancel safety
    /// None, as with [`LinkWrite::write_all`].
    fn write_last<S: Segments>(
        &mut self,
        segments: S,
    ) -> impl Future<Output = (io::Result<()>, S)> + Send {
        self.write_all(segments)
    }

    /// Waits until the socket takes bytes again after it refused some, or is closed. For links
    /// whose senders also write to the descriptor directly, past the runtime.
    ///
    /// # Cancel safety
    /// Full.
    fn writable(&mut self) -> impl Future<Output = io::Result<()>> + Send;

    /// Ends the sending direction: the peer reads everything written before, and then the end of the stream.
    fn shutdown(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

/// A timer for waits shorter than the resolution of a runtime's ordinary timer.
pub trait PreciseTimer: Send + 'static {
    /// Completes `delay` after the call, about 15 us late where the platform allows it. A `delay`
    /// of 0 only yields to other tasks.
    ///
    /// # Cancel safety
    /// Full: dropping the future leaves the timer usable.
    fn wait(&mut self, delay: Duration) -> impl Future<Output = ()> + Send;
}

/// A runtime, chosen by value. Clones are cheap and refer to the same runtime.
///
/// No call panics because of its calling context, and dropping a runtime value never blocks. The
/// futures may be polled anywhere, also on a thread that belongs to another runtime or to none.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// Receiving half of an adopted stream.
    type Read: LinkRead;
    /// Sending half of an adopted stream.
    type Write: LinkWrite;
    /// A listening socket registered with the runtime.
    type Listener: Send;
    /// A timer for short waits, made once and used in a loop.
    type Timer: PreciseTimer;

    /// Returns the name by which users choose the runtime, such as `tokio`.
    fn name(&self) -> &'static str;

    /// Starts a task. `make` runs on the thread that will own the task, so that sockets adopted in it never move to a
    /// thread that cannot drive them. A panic inside ends this task only, and one error is logged under the name `task`.
    fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static;

    /// Starts a short task of which there may be very many, such as a handshake with an unknown
    /// peer. On a runtime with a thread per task, tasks of the same name share one thread, so
    /// `make` and its task must not block; other runtimes run it like [`Runtime::spawn`].
    fn spawn_brief<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn(task, make);
    }

    /// Returns true if the runtime is known to be shut down, so that its tasks never run. Only the
    /// application's runtime can be.
    fn is_shut_down(&self) -> bool {
        false
    }

    /// Returns true if the calling thread is the only one that drives the runtime, so that blocking
    /// it for the runtime would never end. A backend that cannot determine this returns false.
    fn is_driven_here_only(&self) -> bool {
        false
    }

    /// Runs a future on the calling thread until it is ready.
    ///
    /// # Blocking
    /// The thread is parked between polls. On a thread that drives the runtime itself (a callback,
    /// a task) nothing else of that thread advances during the call, and a future that needs it
    /// never ends: meant for plain threads.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Makes a connected socket of any family usable by tasks of this runtime; call it inside the
    /// task (in `make` of [`Runtime::spawn`]). The backend sets the socket's blocking mode until
    /// the release: a caller that writes past the runtime must pass a no-wait flag with each call.
    fn adopt(&self, stream: Socket) -> io::Result<(Self::Read, Self::Write)> {
        self.adopt_shared(Arc::new(stream))
    }

    /// Adopts a socket, like [`Runtime::adopt`], that other owners write to past the runtime: all
    /// use one descriptor, which is closed when the last owner releases it. Only one pair of halves
    /// may drive it at a time.
    fn adopt_shared(&self, stream: Arc<Socket>) -> io::Result<(Self::Read, Self::Write)>;

    /// Takes a stream back from the runtime, given the two halves of one [`Runtime::adopt`], for
    /// use by another task. The socket is then non-blocking until it is adopted again. No read or
    /// write may be in progress.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if the halves do not belong together, or the runtime's
    /// error.
    fn release(&self, read: Self::Read, write: Self::Write) -> io::Result<Arc<Socket>>;

    /// Connects a socket of an internet family that the caller has created and configured.
    fn connect(
        &self,
        socket: Socket,
        to: SocketAddr,
    ) -> impl Future<Output = io::Result<Socket>> + Send;

    /// Registers a listening stream socket of any family, or an unconnected datagram socket. The
    /// socket becomes non-blocking.
    fn listen(&self, listener: Socket) -> io::Result<Self::Listener>;

    /// Waits for one incoming connection, returned with its address where the family has one.
    ///
    /// # Cancel safety
    /// Full: no connection is lost when the future is dropped.
    fn accept(
        &self,
        listener: &mut Self::Listener,
    ) -> impl Future<Output = io::Result<(Socket, Option<SocketAddr>)>> + Send;

    /// Waits until a socket that was registered with [`Runtime::listen`] is readable, and calls
    /// `take`, again whenever it returns [`io::ErrorKind::WouldBlock`]. For datagram sockets, which
    /// have no connections to accept.
    ///
    /// # Cancel safety
    /// Full, if `take` has no effect when it returns `WouldBlock`.
    fn take_from<T, F>(
        &self,
        listener: &mut Self::Listener,
        take: F,
    ) -> impl Future<Output = io::Result<T>> + Send
    where
        T: Send,
        F: FnMut() -> io::Result<T> + Send;

    /// Resolves a host name or an address in text form (IPv6 without brackets); at least one
    /// address on success. Names are resolved on a thread of their own, `zonda-resolve`, that ends
    /// with the look-up.
    fn resolve(
        &self,
        host: String,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;

    /// Completes at `deadline`, possibly some milliseconds late: for keep-alives, leases and back-off.
    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send;

    /// Returns a timer for short waits. Never fails: where the platform has no precise timer, or no
    /// descriptor is left, it waits as coarsely as [`Runtime::sleep_until`].
    fn precise_timer(&self) -> Self::Timer;

    /// Waits precisely once. In a loop, keep a [`Runtime::precise_timer`] instead: this creates one
    /// for each call.
    fn precise_sleep(&self, delay: Duration) -> impl Future<Output = ()> + Send {
        async move { self.precise_timer().wait(delay).await }
    }

    /// Yields to everything else that is ready, including what the sockets have received: for
    /// long-running tasks. The default only wakes itself; a backend whose ready tasks run before
    /// its sockets are polled must override it.
    fn yield_now(&self) -> impl Future<Output = ()> + Send {
        let mut yielded = false;
        poll_fn(move |context| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    /// Runs `future` until `deadline`; drops it and returns `None` if it is not ready by then.
    ///
    /// Wrap a [`LinkRead::read`] or [`LinkWrite::write_all`] only if the link is closed on `None`.
    fn timeout_at<F>(
        &self,
        deadline: Instant,
        future: F,
    ) -> impl Future<Output = Option<F::Output>> + Send
    where
        F: Future + Send,
    {
        async move {
            let mut future = pin!(future);
            let mut sleep = pin!(self.sleep_until(deadline));
            poll_fn(|context| {
                if let Poll::Ready(output) = future.as_mut().poll(context) {
                    return Poll::Ready(Some(output));
                }
                sleep.as_mut().poll(context).map(|()| None)
            })
            .await
        }
    }
}
