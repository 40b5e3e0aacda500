// SPDX-License-Identifier: MIT OR Apache-2.0
//! One operation of an io_uring as a future that may be polled and dropped on any thread.
//!
//! On a thread of the runtime the operation enters that thread's own ring. Elsewhere a shard runs
//! it as an errand and sends the outcome back. A future that was started on one thread and is
//! polled or dropped on another has its operation completed by the first: ring state never leaves
//! its thread.

use std::future::Future;
use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use compio::buf::BufResult;
use compio::driver::{Key, OpCode, PushEntry};
use send_wrapper::SendWrapper;

use super::ring::Reply;
use super::shard::Shard;
use super::worker;
use crate::{oneshot, park};

/// The outcome of an operation: the kernel's result, and the operation with its buffer. The latter
/// is `None` only if the runtime ended first and the kernel still holds the buffer.
pub(super) type Outcome<T> = (io::Result<usize>, Option<T>);

/// An operation; see the [module](self).
pub(super) struct Operation<T: OpCode + Send + 'static> {
    state: Progress<T>,
    /// The receiver of an errand's outcome if the operation is dropped before it is ready.
    reply: Option<Reply<T>>,
}

enum Progress<T> {
    /// Not started; any thread of the runtime may start it, and on other threads this shard runs it
    /// as an errand.
    New(T, Arc<Shard>),
    /// In progress in the ring of this shard.
    Started(SendWrapper<Key<T>>, Arc<Shard>),
    /// Run by a shard for another thread; dropping the sender cancels it.
    Elsewhere(
        oneshot::Receiver<(io::Result<usize>, T)>,
        #[allow(dead_code)] oneshot::Sender<()>,
    ),
    Over,
}

impl<T: OpCode + Send + 'static> Unpin for Operation<T> {}

impl<T: OpCode + Send + 'static> Operation<T> {
    /// Creates an operation that starts at its first poll; `home` runs it if that poll is on a
    /// foreign thread.
    pub(super) fn new(home: &Arc<Shard>, op: T) -> Self {
        Operation {
            state: Progress::New(op, Arc::clone(home)),
            reply: None,
        }
    }

    fn start(&mut self, op: T, home: Arc<Shard>) -> Poll<Outcome<T>> {
        let mut op = Some(op);
        // the ring of a thread that blocks in a task makes no progress
        let pushed = (!park::is_waiting()).then(|| {
            worker::with_ring(home.pool(), |shard, ring| {
                op.take().map(|op| (ring.push(op), Arc::clone(shard)))
            })
        });
        // done at once, in progress in this thread's ring, or left to the home shard
        match (pushed.flatten().flatten(), op) {
            (Some((PushEntry::Ready(BufResult(result, op)), _)), _) => {
                Poll::Ready((result, Some(op)))
            }
            (Some((PushEntry::Pending(key), shard)), _) => {
                self.state = Progress::Started(SendWrapper::new(key), shard);
                Poll::Pending
            }
            (None, Some(op)) => {
                let shard = Arc::clone(&home);
                self.hand_over(Progress::New(op, home), &shard);
                Poll::Pending
            }
            (None, None) => Poll::Ready((Err(worker::shut_down()), None)),
        }
    }

    /// Spawns a task on `shard` that completes the operation.
    fn hand_over(&mut self, state: Progress<T>, shard: &Arc<Shard>) {
        let (reply, outcome) = oneshot::channel();
        let (wanted, given_up) = oneshot::channel();
        let operation = Operation {
            state,
            reply: Some(reply),
        };
        shard.spawn(RemoteOperation {
            operation,
            given_up,
        });
        self.state = Progress::Elsewhere(outcome, wanted);
    }

    fn advance(
        &mut self,
        key: SendWrapper<Key<T>>,
        shard: Arc<Shard>,
        context: &mut Context<'_>,
    ) -> Poll<Outcome<T>> {
        // on a foreign thread, its own thread completes the operation
        if !key.valid() {
            self.hand_over(Progress::Started(key, Arc::clone(&shard)), &shard);
            return self.poll_outcome(context);
        }
        let mut key = Some(key.take());
        let popped = worker::with_ring(shard.pool(), |_, ring| {
            key.take().map(|key| ring.pop(key, context.waker()))
        });
        let key = match popped.flatten() {
            Some(PushEntry::Ready(BufResult(result, op))) => {
                return Poll::Ready((result, Some(op)));
            }
            Some(PushEntry::Pending(key)) => key,
            None => {
                // polled from within the ring itself, as by a destructor: retry later
                context.waker().wake_by_ref();
                match key {
                    Some(key) => key,
                    None => return Poll::Ready((Err(worker::shut_down()), None)),
                }
            }
        };
        self.state = Progress::Started(SendWrapper::new(key), shard);
        Poll::Pending
    }

    fn poll_outcome(&mut self, context: &mut Context<'_>) -> Poll<Outcome<T>> {
        let Progress::Elsewhere(outcome, _) = &mut self.state else {
            return Poll::Pending;
        };
        Pin::new(outcome)
            .poll(context)
            .map(|outcome| match outcome {
                Some((result, op)) => (result, Some(op)),
                None => (Err(worker::shut_down()), None),
            })
    }
}

impl<T: OpCode + Send + 'static> Future for Operation<T> {
    type Output = Outcome<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome<T>> {
        let this = self.get_mut();
        let mut progress = Poll::Pending;
        if matches!(this.state, Progress::New(..))
            && let Progress::New(op, home) = mem::replace(&mut this.state, Progress::Over)
        {
            progress = this.start(op, home);
        }
        if progress.is_pending() {
            progress = match mem::replace(&mut this.state, Progress::Over) {
                Progress::Started(key, shard) => this.advance(key, shard, context),
                state => {
                    this.state = state;
                    this.poll_outcome(context)
                }
            };
        }
        if progress.is_ready() {
            this.state = Progress::Over;
        }
        progress
    }
}

impl<T: OpCode + Send + 'static> Drop for Operation<T> {
    fn drop(&mut self) {
        let reply = self.reply.take();
        match mem::replace(&mut self.state, Progress::Over) {
            Progress::New(op, _) => {
                if let Some(reply) = reply {
                    reply.send((Err(worker::shut_down()), op));
                }
            }
            Progress::Started(key, shard) => {
                let stray = AbandonedOperation {
                    key: Some(key),
                    reply,
                };
                if !worker::is_here(&shard) {
                    shard.spawn(async move { drop(stray) });
                }
            }
            Progress::Elsewhere(..) | Progress::Over => {}
        }
    }
}

/// An abandoned operation; dropped on the thread that started it, so that it is cancelled there.
struct AbandonedOperation<T: OpCode + Send + 'static> {
    key: Option<SendWrapper<Key<T>>>,
    reply: Option<Reply<T>>,
}

impl<T: OpCode + Send + 'static> Drop for AbandonedOperation<T> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        if !key.valid() {
            // its thread is ending: the ring counts this operation as missing and leaks itself with
            // it
            return mem::forget(key);
        }
        worker::abandon(key.take(), self.reply.take());
    }
}

/// A task that runs an operation for another thread.
struct RemoteOperation<T: OpCode + Send + 'static> {
    operation: Operation<T>,
    given_up: oneshot::Receiver<()>,
}

impl<T: OpCode + Send + 'static> Unpin for RemoteOperation<T> {}

impl<T: OpCode + Send + 'static> Future for RemoteOperation<T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if Pin::new(&mut this.given_up).poll(context).is_ready() {
            return Poll::Ready(());
        }
        Pin::new(&mut this.operation)
            .poll(context)
            .map(|(result, op)| {
                if let (Some(reply), Some(op)) = (this.operation.reply.take(), op) {
                    reply.send((result, op));
                }
            })
    }
}
