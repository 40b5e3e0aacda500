// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for room in an outbox. Every write notifies the waiters, which costs next to nothing
//! while there are none.

use std::{
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
    time::Duration,
};

use event_listener::{Event, EventListener, Listener};

/// Waiters for room.
#[derive(Debug, Default)]
pub(super) struct Room {
    event: Event,
    listeners: AtomicUsize,
}

impl Room {
    pub(super) fn listen(&self) -> RoomListener<'_> {
        self.listeners.fetch_add(1, Ordering::SeqCst);
        RoomListener {
            event: self.event.listen(),
            _counted: Counted(&self.listeners),
        }
    }

    /// Wakes all waiters. The caller has made room under a lane's lock, and a waiter looks for room
    /// under that lock after it began to listen: either it finds the room, or the caller sees that
    /// it listens.
    #[inline]
    pub(super) fn tell(&self) {
        if self.listeners.load(Ordering::SeqCst) > 0 {
            self.tell_all();
        }
    }

    /// Wakes all waiters after a change that was not made under a lane's lock.
    #[cold]
    pub(super) fn tell_all(&self) {
        self.event.notify(usize::MAX);
    }
}

/// Wakes when a lane has drained or the connection is closed. Look at
/// [`Outbox::has_room`](super::Outbox::has_room) after listening and before waiting.
#[derive(Debug)]
#[must_use = "it has no effect unless it is waited for"]
pub struct RoomListener<'a> {
    event: EventListener,
    _counted: Counted<'a>,
}

/// Counts a waiter until it is dropped.
#[derive(Debug)]
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl RoomListener<'_> {
    /// Blocks the thread until it is woken, for at most `most`.
    pub(super) fn wait(self, most: Duration) {
        self.event.wait_timeout(most);
    }
}

impl Future for RoomListener<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.event).poll(context)
    }
}
