// SPDX-License-Identifier: MIT OR Apache-2.0

//! Periodic work that lasts as long as its owner.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use event_listener::Event;
use zonda_router::node::Node;

/// A task that ends when this is dropped.
pub(super) struct Ticker(Arc<Stop>);

#[derive(Default)]
struct Stop {
    is_stopped: AtomicBool,
    stopped: Event,
}

impl Ticker {
    /// Calls `tick` every `period`, for the first time after one, on a task of the node's runtime;
    /// until it returns false.
    pub fn start<F>(
        node: &Node,
        task: &'static str,
        period: Duration,
        mut tick: impl FnMut() -> F + Send + 'static,
    ) -> Ticker
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let stop = Arc::new(Stop::default());
        let (stopping, runtime) = (Arc::clone(&stop), node.runtime_handle().clone());
        node.runtime_handle().spawn(task, move || async move {
            loop {
                let due = zonda_runtime::after(period);
                if stopping.within(runtime.sleep_until(due)).await.is_none() {
                    return;
                }
                if stopping.within(tick()).await != Some(true) {
                    return;
                }
            }
        });
        Ticker(stop)
    }
}

impl Stop {
    /// Awaits the future; returns `None` if the ticker is stopped before.
    async fn within<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut stopped = pin!(self.stopped.listen());
        if self.is_stopped.load(Ordering::Acquire) {
            return None;
        }
        let mut future = pin!(future);
        poll_fn(|context| match stopped.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => future.as_mut().poll(context).map(Some),
        })
        .await
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.0.is_stopped.store(true, Ordering::Release);
        self.0.stopped.notify(usize::MAX);
    }
}
