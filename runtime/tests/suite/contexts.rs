// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures of one runtime that are polled by other runtimes, and without a runtime.

use std::future::Future;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zonda_runtime::{PreciseTimer, Runtime, block_on_until};

use super::{Backend, LONG, internet_socket, outcome_of};

/// The executor that polls a future.
#[derive(Debug, Clone, Copy)]
pub enum Context {
    PlainThread,
    TokioMulti,
    TokioCurrent,
    Smol,
    AsyncStd,
}

pub const CONTEXTS: [Context; 5] = [
    Context::PlainThread,
    Context::TokioMulti,
    Context::TokioCurrent,
    Context::Smol,
    Context::AsyncStd,
];

/// Runs `future` in that context, as a task if the context has tasks.
pub fn in_context<T: Send + 'static>(
    context: Context,
    future: impl Future<Output = T> + Send + 'static,
) -> T {
    let output = match context {
        Context::PlainThread => block_on_until(Instant::now() + LONG, future),
        Context::TokioMulti => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let runtime = builder.worker_threads(1).enable_all().build();
            let runtime = runtime.expect("a runtime");
            runtime.block_on(async { tokio::spawn(future).await.ok() })
        }
        Context::TokioCurrent => {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let runtime = runtime.expect("a runtime");
            runtime.block_on(async { tokio::spawn(future).await.ok() })
        }
        Context::Smol => {
            let executor = Arc::new(async_executor::Executor::new());
            let task = executor.spawn(future);
            async_io::block_on(executor.run(async { Some(task.await) }))
        }
        Context::AsyncStd => {
            async_std::task::block_on(async { Some(async_std::task::spawn(future).await) })
        }
    };
    output.unwrap_or_else(|| panic!("not in time, or a panic in {context:?}"))
}

/// Waits that need no task of the runtime itself.
async fn waits<R: Runtime>(runtime: R) {
    let mut timer = runtime.precise_timer();
    timer.wait(Duration::ZERO).await;
    timer.wait(Duration::from_micros(100)).await;
    let soon = || Instant::now() + Duration::from_millis(1);
    runtime.sleep_until(soon()).await;
    let never = runtime.timeout_at(soon(), std::future::pending::<()>());
    assert_eq!(never.await, None);
    let outcome = outcome_of(&runtime, |_| async { 5 });
    assert_eq!(outcome.await, Some(5));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("bound");
    let connected = runtime
        .connect(internet_socket(), at)
        .await
        .expect("the queue takes it");
    assert_eq!(
        connected.peer_addr().expect("connected").as_socket(),
        Some(at)
    );
    drop(listener);
    let addresses = runtime.resolve("127.0.0.1".into(), 1).await;
    assert_eq!(addresses.expect("a literal").len(), 1);
}

pub fn waits_work_everywhere<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    for context in CONTEXTS {
        in_context(context, waits(runtime.clone()));
    }
}

pub fn blocking_inside_of_async_code_does_not_panic<R: Runtime>(backend: &Backend<R>) {
    let (runtime, _running) = backend.running();
    for context in CONTEXTS {
        let runtime = runtime.clone();
        in_context(context, async move {
            // more polls than tokio's budget for one turn of a task
            let tasks = runtime.clone();
            let waited = runtime.block_on(async move {
                let mut timer = tasks.precise_timer();
                for _ in 0..300 {
                    timer.wait(Duration::from_micros(1)).await;
                }
                waits(tasks).await;
                5
            });
            assert_eq!(waited, 5);
        });
    }
}
