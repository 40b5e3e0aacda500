// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a future on the calling thread, without any runtime: the thread parks until the waker unparks it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// A waker that unparks one thread. The flag, not the thread's park token, carries the message: the polled code may
/// park and unpark the same thread for purposes of its own.
struct Unpark {
    thread: Thread,
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::Release) {
            self.thread.unpark();
        }
    }
}

/// Runs `future` on the calling thread until it is ready.
///
/// # Blocking
/// For as long as the future takes. Never panics because of the calling context, but a thread that drives a runtime
/// drives nothing meanwhile.
pub fn block_on<F: Future>(future: F) -> F::Output {
    match run(future, None) {
        Some(output) => output,
        None => unreachable!("without a deadline only a ready future ends the wait"),
    }
}

/// Runs `future` on the calling thread until it is ready or `deadline` has come; `None` in the latter case.
///
/// The clock is the thread's own parking timeout, so this ends in time even if the runtime is gone.
///
/// # Blocking
/// At most until `deadline`, if the future's polls are short.
pub fn block_on_until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    run(future, Some(deadline))
}

fn run<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(unpark.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        while !unpark.woken.swap(false, Ordering::Acquire) {
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(left) if left.is_zero() => return None,
                Some(left) => thread::park_timeout(left),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};
    use std::time::Duration;

    use super::*;
    use crate::oneshot;

    #[test]
    fn a_value_from_another_thread_ends_the_wait() {
        let (sender, receiver) = oneshot::channel();
        let thread = thread::spawn(move || sender.send(5));
        assert_eq!(block_on(receiver), Some(5));
        thread.join().expect("the sender does not panic");
    }

    #[test]
    fn a_nested_wait_that_eats_the_park_token_loses_no_wake_up() {
        let mut polls = 0;
        block_on(poll_fn(|context| {
            polls += 1;
            context.waker().wake_by_ref();
            thread::park(); // consumes the token of the wake-up above
            if polls == 3 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        }));
        assert_eq!(polls, 3);
    }

    #[test]
    fn a_deadline_ends_the_wait() {
        assert_eq!(
            block_on_until(Instant::now() + Duration::from_millis(2), pending::<()>()),
            None
        );
        assert_eq!(block_on_until(Instant::now(), async { 1 }), Some(1));
    }
}
