// SPDX-License-Identifier: MIT OR Apache-2.0

//! The values of a bounded queue as an iterator and as a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{FusedStream, Stream};

use super::FifoChannelHandler;

/// The values of a [`FifoChannelHandler`] as they come; ends when nothing will come any more. Each step blocks.
#[derive(Debug)]
pub struct FifoIter<'a, T>(pub(super) &'a FifoChannelHandler<T>);

impl<T> Iterator for FifoIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

/// The values of a [`FifoChannelHandler`] that it owns; ends when nothing will come any more. Each step blocks.
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

impl<T> fmt::Debug for FifoStream<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FifoStream").finish_non_exhaustive()
    }
}
