// SPDX-License-Identifier: MIT OR Apache-2.0
//! Letting other tasks run, on executors that leave that to their tasks.

use std::future::poll_fn;
use std::task::Poll;

/// Lets the other tasks of the executor run once.
///
/// Not tokio's: that one wakes only when the thread returns to its runtime, which it never does if a task of it blocks
/// on the future that yields.
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
