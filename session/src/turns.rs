// SPDX-License-Identifier: MIT OR Apache-2.0

//! Turns for other tasks. Runtimes wait for a task to return, so a loop of futures that are always ready would keep its thread from
//! timers and other tasks. Once every [`READY_MAX`] times on a thread such a future is pending instead, with its task woken.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// Futures in a row that may be ready on one thread. tokio's own primitives have the same budget.
const READY_MAX: u8 = 128;

thread_local! {
    static READY: Cell<u8> = const { Cell::new(0) };
}

/// Returns ready, but pending with the task woken once every [`READY_MAX`] calls on a thread. A
/// future calls it before it does its work.
#[inline]
pub(crate) fn poll_turn(context: &mut Context<'_>) -> Poll<()> {
    let count = READY.get().wrapping_add(1);
    READY.set(count);
    match count % READY_MAX {
        0 => woken_again(context),
        _ => Poll::Ready(()),
    }
}

#[cold]
fn woken_again(context: &mut Context<'_>) -> Poll<()> {
    context.waker().wake_by_ref();
    Poll::Pending
}

/// Waits for a turn; see [`poll_turn`].
pub(crate) async fn turn() {
    poll_fn(poll_turn).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    #[test]
    fn one_of_so_many_is_pending() {
        let mut context = Context::from_waker(Waker::noop());
        let mut pending = || {
            (0..1280)
                .filter(|_| poll_turn(&mut context).is_pending())
                .count()
        };
        assert_eq!(pending(), 10);
    }
}
