// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interface of the measuring loops. Each backend implements it with its runtime's own calls
//! and nothing around them; there is no virtual call and no allocation. Buffers are passed in and
//! returned, as completion I/O requires, which costs other backends nothing.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

/// The result of a call on a socket, and its buffer.
pub type Done<T> = (io::Result<T>, Vec<u8>);

/// A runtime's timers.
pub trait Native: Copy + Send + Sync + 'static {
    /// The runtime's finest timer.
    type Clock: Clock;

    /// Sleeps as a program of this runtime usually does.
    fn sleep(duration: Duration) -> impl Future<Output = ()>;

    /// Sleeps for [`LOOK`].
    fn tick() -> impl Future<Output = ()> {
        Self::sleep(LOOK)
    }

    /// Yields to the runtime's other tasks.
    fn yield_now() -> impl Future<Output = ()>;
}

/// A timer for times below a millisecond.
pub trait Clock: Sized {
    /// Creates the timer, inside the runtime.
    fn new() -> io::Result<Self>;

    /// Waits for `duration` or less, never much longer.
    fn sleep(&mut self, duration: Duration) -> impl Future<Output = ()>;
}

/// The sending half.
pub trait Sender {
    /// Sends the whole buffer.
    async fn send(&mut self, message: Vec<u8>) -> Done<()>;
}

/// The receiving half.
pub trait Receiver {
    /// Fills the whole buffer from a stream, or receives one datagram. Blocking sockets return
    /// [`io::ErrorKind::WouldBlock`] now and then, and continue at the same position with the next
    /// call.
    async fn receive(&mut self, buffer: Vec<u8>) -> Done<usize>;
}

/// The interval at which a wait checks whether it should end.
pub const LOOK: Duration = Duration::from_millis(25);

/// A wait for messages with a periodic check. One timer serves many messages: a timer for each
/// would cost some runtimes more than the message itself.
pub struct Watch<F, M> {
    tick: Pin<Box<F>>,
    make: M,
}

impl<F: Future<Output = ()>, M: Fn() -> F> Watch<F, M> {
    /// Creates a watch; `make` returns timers of [`LOOK`].
    pub fn new(make: M) -> Self {
        Watch {
            tick: Box::pin(make()),
            make,
        }
    }

    /// Receives the next message; returns `None`, and loses the buffer, once `give_up` returns
    /// true.
    pub async fn receive<R: Receiver>(
        &mut self,
        from: &mut R,
        mut buffer: Vec<u8>,
        mut give_up: impl FnMut() -> bool,
    ) -> Option<Done<usize>> {
        loop {
            let (result, returned) = self.race(from.receive(buffer), &mut give_up).await?;
            match result {
                Err(e) if is_pause(&e) && give_up() => return None,
                Err(e) if is_pause(&e) => buffer = returned,
                result => return Some((result, returned)),
            }
        }
    }

    async fn race<T>(
        &mut self,
        message: impl Future<Output = T>,
        give_up: &mut impl FnMut() -> bool,
    ) -> Option<T> {
        let mut message = pin!(message);
        poll_fn(|context| {
            if let Poll::Ready(done) = message.as_mut().poll(context) {
                return Poll::Ready(Some(done));
            }
            while self.tick.as_mut().poll(context).is_ready() {
                self.tick.set((self.make)());
                if give_up() {
                    return Poll::Ready(None);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Returns true for errors after which a receiver should be called again: its timer, a signal, or
/// the other side's refusal of an earlier datagram, which counts as lost after its timeout.
fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, Interrupted, TimedOut, WouldBlock};
    matches!(
        error.kind(),
        ConnectionRefused | Interrupted | TimedOut | WouldBlock
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A receiver that returns the given results one by one.
    struct Scripted(Vec<io::Result<usize>>);

    impl Receiver for Scripted {
        async fn receive(&mut self, buffer: Vec<u8>) -> Done<usize> {
            (self.0.remove(0), buffer)
        }
    }

    fn poll<F: Future>(future: F) -> Poll<F::Output> {
        pin!(future).poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
    }

    #[test]
    fn pauses_are_passed_over_and_errors_are_not() {
        let pause = || Err(io::ErrorKind::WouldBlock.into());
        let mut script = Scripted(vec![
            pause(),
            pause(),
            Ok(8),
            Err(io::ErrorKind::BrokenPipe.into()),
        ]);
        let mut watch = Watch::new(std::future::pending::<()>);
        let Poll::Ready(Some((Ok(8), buffer))) =
            poll(watch.receive(&mut script, vec![1; 8], || false))
        else {
            panic!("the message did not come");
        };
        let Poll::Ready(Some((Err(error), _))) = poll(watch.receive(&mut script, buffer, || false))
        else {
            panic!("the error did not come");
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_wait_ends_when_its_time_is_over() {
        struct Silent;
        impl Receiver for Silent {
            async fn receive(&mut self, _: Vec<u8>) -> Done<usize> {
                std::future::pending().await
            }
        }
        let mut looks = 0;
        let mut watch = Watch::new(|| async {});
        let mut give_up = || {
            looks += 1;
            looks == 3
        };
        assert!(matches!(
            poll(watch.receive(&mut Silent, vec![], &mut give_up)),
            Poll::Ready(None)
        ));
        // a timer that has completed must not be polled again
        let mut script = Scripted(vec![Err(io::ErrorKind::ConnectionRefused.into())]);
        assert!(matches!(
            poll(watch.receive(&mut script, vec![], || true)),
            Poll::Ready(None)
        ));
    }
}
