// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cooperative yielding, for executors that do not preempt their tasks.

use std::future::poll_fn;
use std::task::Poll;

/// Yields once to the other tasks of the executor.
///
/// This is not tokio's `yield_now`, which wakes only when the thread returns to its runtime; a task
/// that blocks on the yielding future never does.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
