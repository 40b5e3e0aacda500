// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the measuring loops call. Each backend answers with its runtime's own call and nothing around
//! it; there is no virtual call and no allocation on the way. Buffers are handed over and come back,
//! as completion I/O needs it, which is free for the others.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

/// What a call on a socket came to, and the buffer it was given.
pub type Done<T> = (io::Result<T>, Vec<u8>);

/// A runtime's timers.
pub trait Native: Copy + Send + Sync + 'static {
    /// Its finest timer.
    type Clock: Clock;

    /// What a program of this runtime calls when it wants to sleep.
    fn sleep(duration: Duration) -> impl Future<Output = ()>;

    /// A timer of [`LOOK`].
    fn tick() -> impl Future<Output = ()> {
        Self::sleep(LOOK)
    }

    /// Lets the runtime's other tasks run.
    fn yield_now() -> impl Future<Output = ()>;
}

/// A timer for times below a millisecond.
pub trait Clock: Sized {
    /// Makes it, inside the runtime.
    fn new() -> io::Result<Self>;

    /// Waits for `duration` or less, never much longer.
    fn sleep(&mut self, duration: Duration) -> impl Future<Output = ()>;
}

/// Where messages leave.
pub trait Sender {
    /// Sends the whole buffer.
    async fn send(&mut self, message: Vec<u8>) -> Done<()>;
}

/// Where messages arrive.
pub trait Receiver {
    /// Fills the whole buffer from a stream, or takes one datagram. Blocking sockets return with
    /// [`io::ErrorKind::WouldBlock`] now and then, and go on where they were at the next call.
    async fn receive(&mut self, buffer: Vec<u8>) -> Done<usize>;
}

/// How often a wait looks whether it should end.
pub const LOOK: Duration = Duration::from_millis(25);

/// Looks at its watch while it waits for a message. One timer serves many messages: to set one for each
/// would cost some runtimes more than the message itself.
pub struct Watch<F, M> {
    tick: Pin<Box<F>>,
    make: M,
}

impl<F: Future<Output = ()>, M: Fn() -> F> Watch<F, M> {
    /// `make` gives timers of [`LOOK`].
    pub fn new(make: M) -> Self {
        Watch {
            tick: Box::pin(make()),
            make,
        }
    }

    /// The next message; `None`, and the buffer lost, once `give_up` says so.
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

/// True for the errors after which a receiver should simply be asked again: its timer, a signal, or the
/// other side's refusal of an earlier datagram, which is counted as a loss when its time is over.
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

    /// Gives what it was given, one at a time.
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
        // a timer that is over must not be asked again
        let mut script = Scripted(vec![Err(io::ErrorKind::ConnectionRefused.into())]);
        assert!(matches!(
            poll(watch.receive(&mut script, vec![], || true)),
            Poll::Ready(None)
        ));
    }
}
