// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task whose panic stays its own, for executors that would let it unwind into their threads.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use crate::guard::caught;

/// Makes a future and runs it. A panic of either ends this task and is logged under its name.
pub async fn contained<M, F>(task: &'static str, make: M)
where
    M: FnOnce() -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let mut work = pin!(async move { make().await });
    let finished = poll_fn(|context| {
        // Nothing of the future is used after a panic, so it may be left in any state.
        match caught(|| work.as_mut().poll(context)) {
            Ok(progress) => progress.map(|()| true),
            Err(_panic) => Poll::Ready(false),
        }
    });
    if !finished.await {
        tracing::error!("task {task} panicked and ended; the others go on");
    }
}
