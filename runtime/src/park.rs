// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for a future on the calling thread without any runtime: the thread parks until the waker
//! unparks it.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::timers::Timers;

thread_local! {
    /// The innermost wait of this thread, if any.
    static WAIT: RefCell<Option<Wait>> = const { RefCell::new(None) };
}

/// One thread's innermost wait.
#[cfg_attr(
    not(all(feature = "uring", target_os = "linux")),
    allow(
        dead_code,
        reason = "only the sleeps of io_uring are looked after in this way"
    )
)]
struct Wait {
    waker: Waker,
    /// Deadlines that the thread fires while it is parked; created on first use.
    timers: Option<Arc<Timers>>,
}

/// A guard that ends a wait and restores the enclosing one.
struct Leave(Option<Wait>);

impl Drop for Leave {
    fn drop(&mut self) {
        drop(WAIT.replace(self.0.take()));
    }
}

/// Registers a wait of the calling thread, ended by `waker`, until the guard is dropped.
fn enter(waker: Waker) -> Leave {
    Leave(WAIT.replace(Some(Wait {
        waker,
        timers: None,
    })))
}

/// Returns the deadlines that the calling thread fires while it is parked; `None` unless it is
/// inside a wait that `waker` ends.
#[cfg(all(feature = "uring", target_os = "linux"))]
pub(crate) fn timers(waker: &Waker) -> Option<Arc<Timers>> {
    WAIT.with_borrow_mut(|wait| {
        let wait = wait.as_mut().filter(|wait| wait.waker.will_wake(waker))?;
        Some(Arc::clone(wait.timers.get_or_insert_default()))
    })
}

/// Returns true if the calling thread is inside a wait, so that none of its other tasks advances.
#[cfg(all(feature = "uring", target_os = "linux"))]
pub(crate) fn is_waiting() -> bool {
    WAIT.with_borrow(Option::is_some)
}

/// Fires the due sleeps and returns the time until the next one.
fn fire() -> Option<Duration> {
    let timers = WAIT.with_borrow(|wait| wait.as_ref()?.timers.clone())?;
    timers.fire(Instant::now);
    timers.left()
}

/// A waker that unparks one thread. The flag, not the thread's park token, carries the wake-up: the
/// polled code may park and unpark the same thread for its own purposes.
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
/// Blocks for as long as the future takes. Never panics because of the calling context, but a
/// thread that drives a runtime drives nothing while it waits.
pub fn block_on<F: Future>(future: F) -> F::Output {
    match run(future, None) {
        Some(output) => output,
        None => unreachable!("without a deadline only a ready future ends the wait"),
    }
}

/// Runs `future` on the calling thread until it is ready or `deadline` has passed; `None` in the
/// latter case.
///
/// The clock is the thread's own parking timeout, so the wait ends in time even if the runtime is
/// gone.
///
/// # Blocking
/// At most until `deadline`, if the future's polls are short.
pub fn block_on_until<F: Future>(deadline: Instant, future: F) -> Option<F::Output> {
    run(future, Some(deadline))
}

fn run<F: Future>(future: F, deadline: Option<Instant>) -> Option<F::Output> {
    // the waker unparks this thread
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark {
        thread: thread::current(),
        woken: AtomicBool::new(false),
    });
    let waker = Waker::from(unpark.clone());
    let _leave = enter(waker.clone());
    let mut context = Context::from_waker(&waker);
    // poll, then fire timers and park until woken or the deadline passes
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        while !unpark.woken.swap(false, Ordering::Acquire) {
            let next = fire();
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match (left, next) {
                (Some(left), _) if left.is_zero() => return None,
                (None, None) => thread::park(),
                (left, next) => {
                    thread::park_timeout(left.into_iter().chain(next).min().unwrap_or_default());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};

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
