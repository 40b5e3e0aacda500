// SPDX-License-Identifier: MIT OR Apache-2.0

//! Contexts from which a program may call a session: a plain thread, or async code of any runtime.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Limit that no working test exceeds.
pub const LONG: Duration = Duration::from_secs(20);

/// The calling context.
#[derive(Debug, Clone, Copy)]
pub enum Context {
    PlainThread,
    TokioMulti,
    TokioCurrent,
    Smol,
    AsyncStd,
}

/// Runs `future` in this context, as a task where it has tasks. A panic of the future is propagated
/// to the caller.
pub fn in_context<T: Send + 'static>(
    context: Context,
    future: impl Future<Output = T> + Send + 'static,
) -> T {
    match context {
        Context::PlainThread => {
            zonda_runtime::block_on_until(Instant::now() + 2 * LONG, future).expect("in time")
        }
        Context::TokioMulti => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let runtime = builder.worker_threads(1).enable_all().build().unwrap();
            runtime.block_on(async { tokio::spawn(future).await.unwrap() })
        }
        Context::TokioCurrent => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            runtime.block_on(async { tokio::spawn(future).await.unwrap() })
        }
        Context::Smol => {
            let executor = Arc::new(async_executor::Executor::new());
            let task = executor.spawn(future);
            async_io::block_on(executor.run(task))
        }
        Context::AsyncStd => async_std::task::block_on(async_std::task::spawn(future)),
    }
}

/// Waits for a condition, with a deadline; the thread is free for other tasks during the wait.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LONG, "not within {LONG:?}: {what}");
        async_io::Timer::after(Duration::from_millis(1)).await;
    }
}

/// Returns the output of a future that is ready in time.
pub async fn in_time<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut limit = std::pin::pin!(async_io::Timer::after(LONG));
    std::future::poll_fn(|context| {
        assert!(limit.as_mut().poll(context).is_pending(), "not in time");
        future.as_mut().poll(context)
    })
    .await
}
