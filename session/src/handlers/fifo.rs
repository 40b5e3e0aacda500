// SPDX-License-Identifier: MIT OR Apache-2.0

//! A bounded queue in order of arrival.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use zonda_runtime::Origin;

use super::fifo_reading::{FifoIntoIter, FifoIntoStream, FifoIter, FifoRecv, FifoStream};
use super::room::{ExcessValues, FullQueuePolicy};
use super::{Callback, IntoHandler, Patient, RecvError, Stored, Taken};

/// A bounded queue in order of arrival: the default handler.
///
/// When it is full, by default the receiving task **waits** until there is room. Nothing is lost,
/// but that link is not read during the wait: publishers with congestion control `Block` stall, and
/// other subscribers of this session get nothing from that peer. A session that publishes to its
/// own full queue waits for itself, so read from another thread or task. Choose another policy with
/// [`FifoChannel::overflow`], or a [`RingChannel`](super::RingChannel) when only recent values
/// matter.
///
/// Queries and replies never wait longer than their query lives. Replies of a session to its own
/// query while it still sends it, and replies that a get has held back for its end, are taken
/// beyond the capacity: no thread could read them in time. So one thread may query, reply and read.
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

/// Policy of a full [`FifoChannel`] for one more value.
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
    /// Capacity of a default queue.
    pub const CAPACITY_DEFAULT: usize = 256;

    /// Creates a queue with a capacity of at least 1.
    pub fn new(capacity: usize) -> FifoChannel {
        FifoChannel {
            capacity: capacity.max(1),
            overflow: Overflow::Wait,
        }
    }

    /// Sets the policy for a full queue.
    #[must_use]
    pub fn overflow(mut self, overflow: Overflow) -> FifoChannel {
        self.overflow = overflow;
        self
    }
}

impl Default for FifoChannel {
    /// Creates a queue of 256 values that waits when full.
    fn default() -> Self {
        FifoChannel::new(Self::CAPACITY_DEFAULT)
    }
}

impl<T: Stored + Send + 'static> IntoHandler<T> for FifoChannel {
    type Handler = FifoChannelHandler<T>;

    fn into_handler(self) -> (Callback<T>, Self::Handler) {
        let (sender, receiver) = flume::bounded::<T>(self.capacity);
        let dropped = Arc::new(AtomicU64::new(0));
        let beyond = T::ASKS.then(|| Arc::new(ExcessValues::new()));
        let handler = FifoChannelHandler {
            receiver,
            dropped: dropped.clone(),
            beyond: beyond.clone(),
            origin: Origin::here(),
        };
        let callback = Callback::from(move |value| {
            let turned_away = match &beyond {
                Some(beyond) if T::ASKS => self.keep_asking(&sender, beyond, value),
                _ => self.keep(&sender, value),
            };
            if let Some(value) = turned_away {
                dropped.fetch_add(1, Ordering::Relaxed);
                value.turn_away();
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
    /// Creates a queue that is filled by a task which waits without holding its thread.
    fn patient<T: Send + 'static>(self) -> (Patient<T>, FifoChannelHandler<T>) {
        let (sender, receiver) = flume::bounded(self.capacity);
        let dropped = Arc::new(AtomicU64::new(0));
        let handler = FifoChannelHandler {
            receiver,
            dropped: dropped.clone(),
            beyond: None,
            origin: Origin::here(),
        };
        // A value that finds no room becomes a future, which waits without a thread.
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

impl FifoChannel {
    /// Queues a value; returns it if that fails.
    #[inline]
    fn keep<T>(&self, sender: &flume::Sender<T>, value: T) -> Option<T> {
        match self.overflow {
            Overflow::Wait => sender.send(value).err().map(|e| e.0),
            Overflow::WaitAtMost(limit) => {
                let kept = sender.send_timeout(value, limit);
                kept.err().map(flume::SendTimeoutError::into_inner)
            }
            Overflow::DropNewest => {
                let kept = sender.try_send(value);
                kept.err().map(flume::TrySendError::into_inner)
            }
        }
    }

    /// Queues a query or a reply; returns it if that fails.
    fn keep_asking<T>(
        &self,
        sender: &flume::Sender<T>,
        beyond: &ExcessValues<T>,
        value: T,
    ) -> Option<T> {
        match (FullQueuePolicy::here(), self.overflow) {
            (FullQueuePolicy::First, _) => beyond.push_first(value),
            (FullQueuePolicy::Last, _) => beyond.push_last(value),
            (FullQueuePolicy::Usual, _) | (_, Overflow::DropNewest) => {
                return self.keep(sender, value);
            }
            (FullQueuePolicy::Until(mut deadline), overflow) => {
                if let Overflow::WaitAtMost(limit) = overflow {
                    deadline = deadline.min(zonda_runtime::after(limit));
                }
                let kept = sender.send_deadline(value, deadline);
                return kept.err().map(flume::SendTimeoutError::into_inner);
            }
        }
        None
    }
}

/// The reading side of a [`FifoChannel`].
#[derive(Debug)]
pub struct FifoChannelHandler<T> {
    pub(super) receiver: flume::Receiver<T>,
    dropped: Arc<AtomicU64>,
    /// Values beyond the capacity, of queues for queries and replies only.
    beyond: Option<Arc<ExcessValues<T>>>,
    origin: Origin,
}

impl<T> FifoChannelHandler<T> {
    /// Checks that this process was not forked: the thread that fills the queue, and holds its
    /// lock, may exist in the parent only.
    pub(super) fn check(&self) -> Result<(), RecvError> {
        match self.origin.is_elsewhere() {
            true => Err(RecvError::Forked),
            false => Ok(()),
        }
    }

    /// Removes a value that is read before those of the queue.
    #[inline]
    pub(super) fn pop_first(&self) -> Option<T> {
        self.beyond.as_ref()?.pop_first()
    }

    /// Removes a value that is read after those of the queue, once it has no sender any more.
    pub(super) fn pop_last(&self) -> Option<T> {
        self.beyond.as_ref()?.pop_last()
    }

    pub(super) fn last(&self) -> Result<T, RecvError> {
        self.pop_last().ok_or(RecvError::Closed)
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
        if let Some(value) = self.pop_first() {
            return Ok(value);
        }
        self.receiver.recv().or_else(|_| self.last())
    }

    /// Takes the next value, waiting by waker.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub fn recv_async(&self) -> FifoRecv<'_, T> {
        FifoRecv {
            handler: self,
            queue: None,
            is_over: false,
        }
    }

    /// Takes the next value if there is one now.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    pub fn try_recv(&self) -> Result<Option<T>, RecvError> {
        self.check()?;
        if let Some(value) = self.pop_first() {
            return Ok(Some(value));
        }
        match self.receiver.try_recv() {
            Ok(value) => Ok(Some(value)),
            Err(flume::TryRecvError::Empty) => Ok(None),
            Err(flume::TryRecvError::Disconnected) => self.last().map(Some),
        }
    }

    /// Takes the next value if one comes within `limit`.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    ///
    /// # Blocking
    /// At most `limit`.
    pub fn recv_timeout(&self, limit: Duration) -> Result<Option<T>, RecvError> {
        self.check()?;
        if let Some(value) = self.pop_first() {
            return Ok(Some(value));
        }
        match self.receiver.recv_timeout(limit) {
            Ok(value) => Ok(Some(value)),
            Err(flume::RecvTimeoutError::Timeout) => Ok(None),
            Err(flume::RecvTimeoutError::Disconnected) => self.last().map(Some),
        }
    }

    /// Takes the next value if one comes until `deadline`.
    ///
    /// # Errors
    /// The errors of [`recv`](Self::recv).
    ///
    /// # Blocking
    /// At most until `deadline`.
    pub fn recv_deadline(&self, deadline: Instant) -> Result<Option<T>, RecvError> {
        self.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    }

    /// Returns the values as they come; ends when the queue has no sender any more. Each step
    /// blocks.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        FifoIter(self)
    }

    /// Returns the waiting values, without waiting for more.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.try_recv().ok().flatten())
    }

    /// Takes all values that are there now, at once.
    pub fn drain(&self) -> impl Iterator<Item = T> + '_ {
        let first = std::iter::from_fn(|| self.pop_first());
        let last = std::iter::from_fn(|| match self.receiver.is_disconnected() {
            true => self.pop_last(),
            false => None,
        });
        first.chain(self.receiver.drain()).chain(last)
    }

    /// Returns the values as a `futures` stream.
    pub fn stream(&self) -> FifoStream<'_, T> {
        FifoStream {
            handler: self,
            queue: self.receiver.stream(),
        }
    }

    /// Returns the values as a `futures` stream that owns the queue.
    ///
    /// ```
    /// # use zonda::{Config, Wait};
    /// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
    /// let replies = session.get("demo/**").wait()?.into_stream();
    /// # Ok::<(), zonda::Error>(())
    /// ```
    pub fn into_stream(self) -> FifoIntoStream<T>
    where
        T: 'static,
    {
        FifoIntoStream {
            queue: self.receiver.clone().into_stream(),
            handler: self,
        }
    }

    /// Returns the number of senders: none once the subscriber, queryable or get is over.
    pub fn sender_count(&self) -> usize {
        self.receiver.sender_count()
    }

    /// Returns the number of readers: the handler, and the streams made of it.
    pub fn receiver_count(&self) -> usize {
        self.receiver.receiver_count()
    }

    /// Returns true if both read the same queue.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.receiver.same_channel(&other.receiver)
    }

    /// Returns true if the subscriber, queryable or get is over, so that no values come in addition
    /// to the waiting ones.
    pub fn is_disconnected(&self) -> bool {
        self.receiver.is_disconnected()
    }

    /// Returns true if as many values wait in the queue as its capacity; values beyond it do not
    /// count.
    pub fn is_full(&self) -> bool {
        self.receiver.is_full()
    }

    /// Returns the number of values that wait to be taken.
    pub fn len(&self) -> usize {
        self.receiver.len() + self.beyond.as_ref().map_or(0, |beyond| beyond.len())
    }

    /// Returns true if no value waits to be taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the capacity of the queue.
    pub fn capacity(&self) -> usize {
        self.receiver.capacity().unwrap_or(usize::MAX)
    }

    /// Returns the number of values dropped because the queue was full. Always 0 under
    /// [`Overflow::Wait`], except for queries and replies that expired while they waited.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl<'a, T> IntoIterator for &'a FifoChannelHandler<T> {
    type Item = T;
    type IntoIter = FifoIter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        FifoIter(self)
    }
}

/// The values as they come; ends when nothing will come any more. Each step blocks.
///
/// ```
/// # use zonda::{Config, Wait};
/// # fn main() -> zonda::Result<()> {
/// # let session = zonda::open(Config::peer().listen(["tcp/127.0.0.1:0"])).wait()?;
/// # let _answering = session.declare_queryable("room/3").callback(|query| {
/// #     let _ = query.reply("room/3", "21").wait();
/// # }).wait()?;
/// for reply in session.get("room/**").wait()? {
///     assert_eq!(reply.into_result()?.payload().try_to_string()?, "21");
/// }
/// # Ok(())
/// # }
/// ```
impl<T> IntoIterator for FifoChannelHandler<T> {
    type Item = T;
    type IntoIter = FifoIntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        FifoIntoIter(self)
    }
}
