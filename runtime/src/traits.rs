// SPDX-License-Identifier: MIT OR Apache-2.0
//! The seam between Zonda and a runtime: what the drivers, dialers and listeners ask for, and nothing else.

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
    /// Reads once, appending to the buffer's spare part, and hands the buffer back.
    ///
    /// `Ok(0)` is the end of the stream. A buffer without spare part is refused with
    /// [`io::ErrorKind::InvalidInput`], so that it cannot be mistaken for the end.
    ///
    /// # Cancel safety
    /// None: when the future is dropped before it is ready, the link must be given up. To bound a wait, shut the socket
    /// down from elsewhere, or give the link up.
    fn read(&mut self, buf: RxBuf) -> impl Future<Output = (io::Result<usize>, RxBuf)> + Send;
}

/// The sending half of a stream.
pub trait LinkWrite: Send + 'static {
    /// Writes all segments in order, several per system call, and hands them back.
    ///
    /// # Errors
    /// Those of the socket; how much was taken before is not known, so the link is no longer usable.
    ///
    /// # Cancel safety
    /// None: when the future is dropped before it is ready, part of the bytes may have been sent.
    fn write_all<S: Segments>(
        &mut self,
        segments: S,
    ) -> impl Future<Output = (io::Result<()>, S)> + Send;

    /// The same for what is written last, right before the stream is closed. A backend that gathers what is written gives it to
    /// the socket at once here, as far as that takes it: the peer then wakes up once, for the bytes and for the end.
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

    /// Waits until the socket takes bytes again after it refused some, or is closed. Meant for links whose senders
    /// also write to the descriptor by themselves, past the runtime.
    ///
    /// # Cancel safety
    /// Full.
    fn writable(&mut self) -> impl Future<Output = io::Result<()>> + Send;

    /// Ends the sending direction: the peer reads everything written before, and then the end of the stream.
    fn shutdown(&mut self) -> impl Future<Output = io::Result<()>> + Send;
}

/// A timer for waits shorter than a runtime's ordinary timer can tell apart.
pub trait PreciseTimer: Send + 'static {
    /// Completes `delay` after the call, late by some 15 us where the platform allows it. `delay` 0 only lets other
    /// tasks run.
    ///
    /// # Cancel safety
    /// Full: dropping the future leaves the timer usable.
    fn wait(&mut self, delay: Duration) -> impl Future<Output = ()> + Send;
}

/// A runtime, chosen by value. Clones are cheap and mean the same runtime.
///
/// None of these calls panics because of the context it is made from, and dropping a runtime value never blocks.
/// Futures made here may be polled anywhere, also on a thread that belongs to another runtime or to none.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// Receiving half of an adopted stream.
    type Read: LinkRead;
    /// Sending half of an adopted stream.
    type Write: LinkWrite;
    /// A listening socket registered with the runtime.
    type Listener: Send;
    /// A timer for short waits, made once and used in a loop.
    type Timer: PreciseTimer;

    /// The name users choose it by, such as `tokio`.
    fn name(&self) -> &'static str;

    /// Starts a task. `make` runs on the thread that will own the task, so that sockets adopted in it never move to a
    /// thread that cannot drive them. A panic inside ends this task only, and one error is logged under the name `task`.
    fn spawn<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static;

    /// Starts a task that soon ends and may be one of very many, such as hearing a stranger out. Where a task costs a
    /// thread, those of the same name share one, so `make` and what it makes must not block; elsewhere it is the same
    /// as [`Runtime::spawn`].
    fn spawn_brief<M, F>(&self, task: &'static str, make: M)
    where
        M: FnOnce() -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn(task, make);
    }

    /// Whether the runtime is known to be shut down, so that its tasks never run. Only the application's runtime can be.
    fn is_shut_down(&self) -> bool {
        false
    }

    /// Whether the calling thread is the only one that drives the runtime, so that blocking it until the runtime has
    /// done something would never end. Not every backend can tell; no is the answer then.
    fn is_driven_here_only(&self) -> bool {
        false
    }

    /// Runs a future on the calling thread until it is ready.
    ///
    /// # Blocking
    /// The thread is parked between polls. On a thread that drives the runtime itself (a callback, a task) nothing else
    /// of that thread advances meanwhile, and a future that needs it never ends: meant for plain threads.
    fn block_on<F: Future>(&self, future: F) -> F::Output;

    /// Makes a connected socket usable by tasks of this runtime, whatever its family; call it inside the task (in
    /// `make` of [`Runtime::spawn`]). Whether the socket blocks is the backend's until it is released: a caller that writes
    /// past the runtime says each time that the call must not wait.
    fn adopt(&self, stream: Socket) -> io::Result<(Self::Read, Self::Write)> {
        self.adopt_shared(Arc::new(stream))
    }

    /// [`Runtime::adopt`] of a socket that others write to as well, past the runtime: all use one descriptor, which is closed
    /// when the last of them lets go of it. Only one pair of halves may drive it at a time.
    fn adopt_shared(&self, stream: Arc<Socket>) -> io::Result<(Self::Read, Self::Write)>;

    /// Takes a stream back from the runtime, from the two halves of one [`Runtime::adopt`], to hand it to a task of its own.
    /// It is non-blocking then, unless somebody adopts it again. No read or write may be under way.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] when the halves do not belong together, or those of the runtime.
    fn release(&self, read: Self::Read, write: Self::Write) -> io::Result<Arc<Socket>>;

    /// Connects a socket of an internet family that was created, and given its options, by the caller.
    fn connect(
        &self,
        socket: Socket,
        to: SocketAddr,
    ) -> impl Future<Output = io::Result<Socket>> + Send;

    /// Registers a listening stream socket, whatever its family, or one that datagrams come to from anywhere. It becomes
    /// non-blocking.
    fn listen(&self, listener: Socket) -> io::Result<Self::Listener>;

    /// Waits for one incoming connection, which comes with its address where the family has one.
    ///
    /// # Cancel safety
    /// Full: no connection is lost when the future is dropped.
    fn accept(
        &self,
        listener: &mut Self::Listener,
    ) -> impl Future<Output = io::Result<(Socket, Option<SocketAddr>)>> + Send;

    /// Waits until a socket that was registered with [`Runtime::listen`] has something, and takes that by `take`, which is
    /// called again whenever it says [`io::ErrorKind::WouldBlock`]. For sockets of datagrams: they have no connections to
    /// accept.
    ///
    /// # Cancel safety
    /// Full, if `take` leaves nothing behind when it has nothing.
    fn take_from<T, F>(
        &self,
        listener: &mut Self::Listener,
        take: F,
    ) -> impl Future<Output = io::Result<T>> + Send
    where
        T: Send,
        F: FnMut() -> io::Result<T> + Send;

    /// Finds the addresses of a host name or an address in text form (IPv6 without brackets); at least one on success.
    /// Names are looked up on a thread of their own, named `zonda-resolve`, that ends with the look-up.
    fn resolve(
        &self,
        host: String,
        port: u16,
    ) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;

    /// Completes at `deadline`, possibly some milliseconds late: for keep-alives, leases and back-off.
    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send;

    /// A timer for short waits. Never fails: where the platform has nothing precise to offer, or is out of descriptors,
    /// it waits as coarsely as [`Runtime::sleep_until`].
    fn precise_timer(&self) -> Self::Timer;

    /// One precise wait. In a loop, keep a [`Runtime::precise_timer`] instead: this makes one anew each time.
    fn precise_sleep(&self, delay: Duration) -> impl Future<Output = ()> + Send {
        async move { self.precise_timer().wait(delay).await }
    }

    /// Lets everything else that is ready go first, what the sockets brought meanwhile included: for a task with a long
    /// way to go. The default only wakes itself; a backend whose ready tasks run before its sockets are looked at must
    /// have something better.
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

    /// Runs `future` until `deadline`; `None` when it was not ready by then, and it is dropped.
    ///
    /// Put it around a [`LinkRead::read`] or [`LinkWrite::write_all`] only if the link is given up on `None`.
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
