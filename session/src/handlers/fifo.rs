// SPDX-License-Identifier: MIT OR Apache-2.0

//! A bounded queue in order of arrival.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonda_runtime::Origin;

use super::{Callback, IntoHandler, Patient, RecvError, Stored, Taken};

/// A bounded queue in order of arrival: the default handler.
///
/// When it is full, by default the receiving task **waits** until there is room. Nothing is lost, but meanwhile that
/// link is not read: publishers with congestion control `Block` feel the back-pressure, and other subscribers of this
/// session get nothing from that peer. A session that publishes to its own full queue waits for itself, so read from
/// another thread or task. Choose another policy with [`FifoChannel::overflow`], or a [`RingChannel`](super::RingChannel)
/// when only recent values matter.
///
/// ```
/// use zonda::handlers::{FifoChannel, Overflow};
/// let deep = FifoChannel::new(10_000);
/// let lossy = FifoChannel::new(16).overflow(Overflow::DropNewest);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FifoChannel {
    capacity: usize,
    overflow: Overflow,
}

/// What a full [`FifoChannel`] does with one more value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// The receiving task waits until there is room.
    #[default]
    Wait,
    /// The receiving task waits at most this long; then the value is dropped and counted.
    WaitAtMost(Duration),
    /// The value is dropped and counted at once.
    DropNewest,
}

impl FifoChannel {
    /// How many values a default queue holds.
    pub const CAPACITY_DEFAULT: usize = 256;

    /// A queue for so many values (at least 1).
    pub fn new(capacity: usize) -> FifoChannel {
        FifoChannel {
            capacity: capacity.max(1),
            overflow: Overflow::Wait,
        }
    }

    /// The same queue with this policy for when it is full.
    #[must_use]
    pub fn overflow(mut self, overflow: Overflow) -> FifoChannel {
        self.overflow = overflow;
        self
    }
}

impl Default for FifoChannel {
    /// 256 values, waits when full.
    fn default() -> Self {
        FifoChannel::new(Self::CAPACITY_DEFAULT)
    }
}

impl<T: Stored + Send + 'static> IntoHandler<T> for FifoChannel {
    type Handler = FifoChannelHandler<T>;

    fn into_handler(self) -> (Callback<T>, Self::Handler) {
        let (sender, receiver) = flume::bounded(self.capacity);
        let dropped = Arc::new(AtomicU64::new(0));
        let handler = FifoChannelHandler {
            receiver,
            dropped: dropped.clone(),
            origin: Origin::here(),
        };
        let callback = Callback::new(move |value| {
            let kept = match self.overflow {
                Overflow::Wait => sender.send(value).is_ok(),
                Overflow::WaitAtMost(limit) => sender.send_timeout(value, limit).is_ok(),
                Overflow::DropNewest => sender.try_send(value).is_ok(),
            };
            if !kept {
                dropped.fetch_add(1, Ordering::Relaxed);
            }
        });
        (callback, handler)
    }

    fn into_patient(self) -> (Patient<T>, Self::Handler) {
        if self.overflow == Overflow::Wait {
            return self.patient();
        }
        let (callback, handler) = self.into_handler();
        (callback.into(), handler)
    }
}

impl FifoChannel {
    /// A queue that is filled by a task which waits without holding its thread.
    fn patient<T: Send + 'static>(self) -> (Patient<T>, FifoChannelHandler<T>) {
        let (sender, receiver) = flume::bounded(self.capacity);
        let dropped = Arc::new(AtomicU64::new(0));
        let handler = FifoChannelHandler {
            receiver,
            dropped: dropped.clone(),
            origin: Origin::here(),
        };
        let patient = Patient::new(move |value| match sender.try_send(value) {
            Ok(()) => None,
            Err(flume::TrySendError::Disconnected(_)) => {
                dropped.fetch_add(1, Ordering::Relaxed);
                None
            }
            Err(flume::TrySendError::Full(value)) => {
                let (taken, dropped) = (sender.clone().into_send_async(value), dropped.clone());
                Some(Box::pin(async move {
                    if taken.await.is_err() {
                        dropped.fetch_add(1, Ordering::Relaxed);
                    }
                }) as Taken)
            }
        });
        (patient, handler)
    }
}

/// The reading side of a [`FifoChannel`].
#[derive(Debug)]
pub struct FifoChannelHandler<T> {
    receiver: flume::Receiver<T>,
    dropped: Arc<AtomicU64>,
    origin: Origin,
}

impl<T> FifoChannelHandler<T> {
    /// Whoever fills the queue, and its lock, may be left behind in the parent of a process that was forked off.
    fn check(&self) -> Result<(), RecvError> {
        match self.origin.is_elsewhere() {
            true => Err(RecvError::Forked),
            false => Ok(()),
        }
    }

    /// Takes the next value.
    ///
    /// # Errors
    /// [`RecvError::Closed`] once the queue is empty and its subscriber gone; [`RecvError::Forked`] in another process
    /// than the subscriber's.
    ///
    /// # Blocking
    /// Until there is a value.
    pub fn recv(&self) -> Result<T, RecvError> {
        self.check()?;
        self.receiver.recv().map_err(|_| RecvError::Closed)
    }

    /// Takes the next value, waiting by waker.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn recv_async(&self) -> Result<T, RecvError> {
        self.check()?;
        self.receiver
            .recv_async()
            .await
            .map_err(|_| RecvError::Closed)
    }

    /// Takes the next value if there is one now.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn try_recv(&self) -> Result<Option<T>, RecvError> {
        self.check()?;
        match self.receiver.try_recv() {
            Ok(value) => Ok(Some(value)),
            Err(flume::TryRecvError::Empty) => Ok(None),
            Err(flume::TryRecvError::Disconnected) => Err(RecvError::Closed),
        }
    }

    /// Takes the next value if one comes within `limit`.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Blocking
    /// At most `limit`.
    pub fn recv_timeout(&self, limit: Duration) -> Result<Option<T>, RecvError> {
        self.check()?;
        match self.receiver.recv_timeout(limit) {
            Ok(value) => Ok(Some(value)),
            Err(flume::RecvTimeoutError::Timeout) => Ok(None),
            Err(flume::RecvTimeoutError::Disconnected) => Err(RecvError::Closed),
        }
    }

    /// Takes the next value if one comes until `deadline`.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Blocking
    /// At most until `deadline`.
    pub fn recv_deadline(&self, deadline: Instant) -> Result<Option<T>, RecvError> {
        self.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    }

    /// The values as they come; ends when the subscriber is gone. Each step blocks.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }

    /// The values that are there, without waiting.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        self.receiver.try_iter()
    }

    /// Takes all values that are there now, at once.
    pub fn drain(&self) -> impl Iterator<Item = T> + '_ {
        self.receiver.drain()
    }

    /// The values as a `futures` stream.
    pub fn stream(&self) -> flume::r#async::RecvStream<'_, T> {
        self.receiver.stream()
    }

    /// How many values wait to be taken.
    pub fn len(&self) -> usize {
        self.receiver.len()
    }

    /// Whether no value waits to be taken.
    pub fn is_empty(&self) -> bool {
        self.receiver.is_empty()
    }

    /// How many values the queue holds when full.
    pub fn capacity(&self) -> usize {
        self.receiver.capacity().unwrap_or(usize::MAX)
    }

    /// How many values were dropped because the queue was full. Always 0 under [`Overflow::Wait`].
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl<'a, T> IntoIterator for &'a FifoChannelHandler<T> {
    type Item = T;
    type IntoIter = flume::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.receiver.iter()
    }
}
