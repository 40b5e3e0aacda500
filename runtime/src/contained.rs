// SPDX-License-Identifier: MIT OR Apache-2.0
//! Panic containment for tasks of executors that would unwind into their threads.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::guard::caught;

/// Makes a future and runs it. A panic in either ends this task and is logged under the task's
/// name.
pub async fn contained<M, F>(task: &'static str, make: M)
where
    M: FnOnce() -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let mut work = pin!(async move { make().await });
    let finished = poll_fn(|context| {
        // The future is not polled again after a panic, so its state does not matter.
        match caught(|| work.as_mut().poll(context)) {
            Ok(progress) => progress.map(|()| true),
            Err(_panic) => Poll::Ready(false),
        }
    });
    if !finished.await {
        tracing::error!("task {task} panicked and ended; all others continue");
    }
}
