// SPDX-License-Identifier: MIT OR Apache-2.0
//! One value from one thread or task to another, with any executor on the receiving side.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

struct Slot<T> {
    value: Option<T>,
    closed: bool,
    waker: Option<Waker>,
}

type Shared<T> = Arc<Mutex<Slot<T>>>;

/// The sending end. Dropping it without sending closes the channel.
pub struct Sender<T>(Shared<T>);

/// The receiving end: a future of the value, or of `None` when the sender was dropped without
/// sending.
pub struct Receiver<T>(Shared<T>);

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver")
    }
}

/// Creates a channel for one value.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Mutex::new(Slot {
        value: None,
        closed: false,
        waker: None,
    }));
    (Sender(shared.clone()), Receiver(shared))
}

/// Locks the slot. The lock is held only for moves of a few words, and no code that can panic runs
/// under it.
fn lock<T>(shared: &Shared<T>) -> MutexGuard<'_, Slot<T>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Sender<T> {
    /// Sends the value, which is dropped if the receiver is gone. Never blocks.
    pub fn send(self, value: T) {
        lock(&self.0).value = Some(value);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let waker = {
            let mut slot = lock(&self.0);
            slot.closed = true;
            slot.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Future for Receiver<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = lock(&self.0);
        if slot.closed {
            return Poll::Ready(slot.value.take());
        }
        slot.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
