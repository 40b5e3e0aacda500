// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ring of the latest N values: a full one drops its oldest value and never makes its sender wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use event_listener::{Event, Listener};
use parking_lot::Mutex;
use zonda_runtime::Origin;

use super::{Callback, IntoHandler, RecvError, Stored};
use crate::turns::turn;

/// A ring of the latest values. Writing never waits: the oldest value is dropped and counted.
///
/// ```
/// // The reader gets the latest value, however late it comes.
/// let latest = zonda::handlers::RingChannel::new(1);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RingChannel {
    capacity: usize,
}

impl RingChannel {
    /// Creates a ring with a capacity of at least 1.
    pub fn new(capacity: usize) -> RingChannel {
        RingChannel {
            capacity: capacity.max(1),
        }
    }
}

impl Default for RingChannel {
    /// Creates a ring of the latest value.
    fn default() -> Self {
        RingChannel::new(1)
    }
}

impl<T: Stored + Send + 'static> IntoHandler<T> for RingChannel {
    type Handler = RingChannelHandler<T>;

    fn into_handler(self) -> (Callback<T>, Self::Handler) {
        let ring = Arc::new(Ring {
            state: Mutex::new(RingBuffer {
                values: VecDeque::new(),
                closed: false,
            }),
            arrived: Event::new(),
            dropped: AtomicU64::new(0),
            capacity: self.capacity,
        });
        let writer = Writer(ring.clone());
        let callback = Callback::from(move |value| writer.push(value));
        let origin = Origin::here();
        (callback, RingChannelHandler { ring, origin })
    }
}

struct Ring<T> {
    state: Mutex<RingBuffer<T>>,
    /// Event of each value, and of the end of the writer.
    arrived: Event,
    dropped: AtomicU64,
    capacity: usize,
}

struct RingBuffer<T> {
    values: VecDeque<T>,
    /// Set once no value will come any more.
    closed: bool,
}

impl<T> Ring<T> {
    fn take(&self) -> Result<Option<T>, RecvError> {
        let mut state = self.state.lock();
        match state.values.pop_front() {
            Some(value) => Ok(Some(value)),
            None if state.closed => Err(RecvError::Closed),
            None => Ok(None),
        }
    }
}

/// The only writer; closes the ring when it goes.
struct Writer<T>(Arc<Ring<T>>);

impl<T: Stored> Writer<T> {
    fn push(&self, value: T) {
        let mut state = self.0.state.lock();
        let full = state.values.len() >= self.0.capacity;
        let oldest = if full { state.values.pop_front() } else { None };
        state.values.push_back(value);
        drop(state);
        if oldest.is_some() {
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            // A full ring has readers on their way already.
            self.0.arrived.notify_additional(1);
        }
        // Last, outside of the lock: dropping a value may run user code.
        if let Some(oldest) = oldest {
            oldest.turn_away();
        }
    }
}

impl<T> Drop for Writer<T> {
    fn drop(&mut self) {
        self.0.state.lock().closed = true;
        self.0.arrived.notify(usize::MAX);
    }
}

/// The reading side of a [`RingChannel`].
pub struct RingChannelHandler<T> {
    ring: Arc<Ring<T>>,
    origin: Origin,
}

impl<T> RingChannelHandler<T> {
    /// Takes the oldest value of the ring.
    ///
    /// # Errors
    /// [`RecvError::Closed`] once the ring is empty and its subscriber gone; [`RecvError::Forked`] in another process
    /// than the subscriber's.
    ///
    /// # Blocking
    /// Until there is a value.
    pub fn recv(&self) -> Result<T, RecvError> {
        loop {
            if let Some(value) = self.try_recv()? {
                return Ok(value);
            }
            let listener = self.ring.arrived.listen();
            if let Some(value) = self.try_recv()? {
                return Ok(value);
            }
            listener.wait();
        }
    }

    /// Takes the oldest value of the ring, waiting by waker.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn recv_async(&self) -> Result<T, RecvError> {
        turn().await;
        loop {
            if let Some(value) = self.try_recv()? {
                return Ok(value);
            }
            let listener = self.ring.arrived.listen();
            if let Some(value) = self.try_recv()? {
                return Ok(value);
            }
            listener.await;
        }
    }

    /// Takes the oldest value of the ring if there is one now.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    pub fn try_recv(&self) -> Result<Option<T>, RecvError> {
        // The thread that fills the ring, and holds its lock, may exist only in the parent of a
        // forked process.
        match self.origin.is_elsewhere() {
            true => Err(RecvError::Forked),
            false => self.ring.take(),
        }
    }

    /// Takes the oldest value of the ring if one comes within `limit`.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    ///
    /// # Blocking
    /// At most `limit`.
    pub fn recv_timeout(&self, limit: Duration) -> Result<Option<T>, RecvError> {
        self.recv_deadline(zonda_runtime::after(limit))
    }

    /// Takes the oldest value of the ring if one comes until `deadline`.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    ///
    /// # Blocking
    /// At most until `deadline`.
    pub fn recv_deadline(&self, deadline: Instant) -> Result<Option<T>, RecvError> {
        loop {
            let listener = self.ring.arrived.listen();
            if let Some(value) = self.try_recv()? {
                return Ok(Some(value));
            }
            if listener.wait_deadline(deadline).is_none() {
                return self.try_recv();
            }
        }
    }

    /// Returns the values as they come; ends when the subscriber is gone. Each step blocks.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }

    /// Returns the waiting values, without waiting for more.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.try_recv().ok().flatten())
    }

    /// Returns the number of values that wait to be taken.
    pub fn len(&self) -> usize {
        self.ring.state.lock().values.len()
    }

    /// Returns true if no value waits to be taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the capacity of the ring.
    pub fn capacity(&self) -> usize {
        self.ring.capacity
    }

    /// Returns the number of values that were dropped because newer ones came.
    pub fn dropped(&self) -> u64 {
        self.ring.dropped.load(Ordering::Relaxed)
    }
}

impl<T> std::fmt::Debug for RingChannelHandler<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingChannelHandler")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
