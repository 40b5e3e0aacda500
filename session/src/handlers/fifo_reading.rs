// SPDX-License-Identifier: MIT OR Apache-2.0

//! The values of a bounded queue as an iterator and as a stream.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::future::FusedFuture;
use futures_core::stream::{FusedStream, Stream};

use super::{FifoChannelHandler, RecvError};
use crate::turns::poll_turn;

/// Iterator over the values of a [`FifoChannelHandler`] as they come; ends when it has no sender
/// any more. Each step blocks.
#[derive(Debug)]
pub struct FifoIter<'a, T>(pub(super) &'a FifoChannelHandler<T>);

impl<T> Iterator for FifoIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

/// Iterator over the values of a [`FifoChannelHandler`] that it owns; ends when it has no sender
/// any more. Each step blocks.
#[derive(Debug)]
pub struct FifoIntoIter<T>(pub(super) FifoChannelHandler<T>);

impl<T> Iterator for FifoIntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

/// The values of a [`FifoChannelHandler`] as a `futures` stream; ends when nothing will come any more.
pub struct FifoStream<'a, T> {
    pub(super) handler: &'a FifoChannelHandler<T>,
    pub(super) queue: flume::r#async::RecvStream<'a, T>,
}

impl<T> Stream for FifoStream<'_, T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        ready!(poll_turn(context));
        let handler = self.handler;
        if let Some(value) = handler.pop_first() {
            return Poll::Ready(Some(value));
        }
        match Pin::new(&mut self.queue).poll_next(context) {
            Poll::Ready(None) => Poll::Ready(handler.pop_last()),
            other => other,
        }
    }
}

impl<T> FusedStream for FifoStream<'_, T> {
    fn is_terminated(&self) -> bool {
        self.queue.is_terminated() && self.handler.is_empty()
    }
}

/// The next value of a [`FifoChannelHandler`], waited for by waker. It is terminated, in the sense
/// of `futures::select!`, once it has returned its value or error. Once in 128 times on a thread it
/// is pending, with its task woken, although a value is there: other tasks have a turn then.
/// [`try_recv`](FifoChannelHandler::try_recv) looks without waiting.
///
/// # Cancel safety
/// Dropping it loses nothing.
pub struct FifoRecv<'a, T> {
    pub(super) handler: &'a FifoChannelHandler<T>,
    /// The queue's future; `None` until it is polled first, and once it has returned.
    pub(super) queue: Option<flume::r#async::RecvFut<'a, T>>,
    pub(super) is_over: bool,
}

impl<T> Future for FifoRecv<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(poll_turn(context));
        let handler = self.handler;
        let given = match handler.check() {
            Err(error) => Err(error),
            Ok(()) => match handler.pop_first() {
                Some(value) => Ok(value),
                None => {
                    let queue = self
                        .queue
                        .get_or_insert_with(|| handler.receiver.recv_async());
                    match Pin::new(queue).poll(context) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(value) => value.or_else(|_| handler.last()),
                    }
                }
            },
        };
        self.queue = None;
        self.is_over = true;
        Poll::Ready(given)
    }
}

impl<T> FusedFuture for FifoRecv<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> fmt::Debug for FifoRecv<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FifoRecv").finish_non_exhaustive()
    }
}

/// The values of a [`FifoChannelHandler`] that it owns, as a `futures` stream; ends when nothing will come any more.
pub struct FifoIntoStream<T: 'static> {
    pub(super) handler: FifoChannelHandler<T>,
    pub(super) queue: flume::r#async::RecvStream<'static, T>,
}

impl<T: 'static> Stream for FifoIntoStream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        ready!(poll_turn(context));
        if let Some(value) = self.handler.pop_first() {
            return Poll::Ready(Some(value));
        }
        match Pin::new(&mut self.queue).poll_next(context) {
            Poll::Ready(None) => Poll::Ready(self.handler.pop_last()),
            other => other,
        }
    }
}

impl<T: 'static> FusedStream for FifoIntoStream<T> {
    fn is_terminated(&self) -> bool {
        self.queue.is_terminated() && self.handler.is_empty()
    }
}

impl<T: 'static> fmt::Debug for FifoIntoStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FifoIntoStream").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for FifoStream<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FifoStream").finish_non_exhaustive()
    }
}
