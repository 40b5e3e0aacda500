// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a link and the task that carries its bytes both know.

use std::future::poll_fn;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};

use atomic_waker::AtomicWaker;

use crate::protocol::options::Framing;
use crate::protocol::parameters::Established;

/// How late something may come in a stream, or by a link, beside which others bring what was sent later: a packet may get lost, and
/// what is in it be sent again, several times.
pub(super) const STREAM_LAG_MAX: Duration = Duration::from_secs(5);

/// How late a datagram may come: what got lost does not come at all.
pub(super) const DATAGRAM_LAG_MAX: Duration = Duration::from_millis(200);

/// How what follows the introductions is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framed {
    /// The two ends introduce themselves still, or have batches whose priority does not show.
    Batches = 0,
    /// Batches, each of one priority.
    Lanes = 1,
    /// Single messages.
    Bare = 2,
}

/// What carries the bytes of a link.
pub(super) trait Carries: Send + Sync {
    /// Bytes of memory that it holds of what the link has sent, or is to read; about. Waits for nothing.
    fn held(&self) -> usize;
}

/// What a link and the task that carries its bytes both know.
#[derive(Debug, Default)]
pub struct Carriage {
    by: Option<Weak<dyn Carries>>,
    /// When what the peer has shown of itself expires.
    valid_until: Option<SystemTime>,
    framed: AtomicU8,
    /// How late a batch may come behind one of another priority that was sent later.
    lag_max: Option<Duration>,
    /// The priorities of which the link takes nothing at the moment, a bit for each.
    held: AtomicU8,
    /// Nobody has the link any more.
    is_left: AtomicBool,
    carrier: AtomicWaker,
    /// What the peer said when it ended the connection, for people.
    farewell: OnceLock<String>,
}

/// What a link has of its carriage. Once nobody has this any more, the link has ended, whatever its socket has still to be read.
#[derive(Debug)]
pub struct Passenger(Arc<Carriage>);

impl Passenger {
    #[cfg_attr(not(feature = "quic"), allow(dead_code, reason = "nothing carries"))]
    pub(super) fn of(carriage: Arc<Carriage>) -> Arc<Passenger> {
        Arc::new(Passenger(carriage))
    }
}

impl Deref for Passenger {
    type Target = Carriage;

    fn deref(&self) -> &Carriage {
        &self.0
    }
}

impl Drop for Passenger {
    fn drop(&mut self) {
        self.0.is_left.store(true, Ordering::SeqCst);
        self.0.carrier.wake();
    }
}

#[cfg_attr(not(feature = "quic"), allow(dead_code, reason = "nothing carries"))]
impl Carriage {
    pub(super) fn new(
        by: Weak<dyn Carries>,
        valid_until: Option<SystemTime>,
        lag_max: Option<Duration>,
    ) -> Carriage {
        Carriage {
            by: Some(by),
            valid_until,
            lag_max,
            ..Carriage::default()
        }
    }

    /// Bytes of memory that are held beside the link's own; about.
    pub(super) fn held(&self) -> usize {
        let by = self.by.as_ref().and_then(Weak::upgrade);
        by.map_or(0, |by| by.held())
    }

    pub(super) fn valid_until(&self) -> Option<SystemTime> {
        self.valid_until
    }

    /// What carries the link is lost for this reason. To be called before the task lets go of its end of the socket.
    pub(super) fn note_lost(&self, error: &io::Error) {
        if error.get_ref().is_some() {
            self.farewell.get_or_init(|| error.to_string());
        }
    }

    /// What has happened to the socket, in the words of the peer if it has said any.
    pub(super) fn explain<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| self.lost().unwrap_or(error))
    }

    /// As [`Carriage::explain`], where no bytes are the end.
    pub(super) fn explain_read(&self, result: io::Result<usize>) -> io::Result<usize> {
        match result {
            Ok(0) => self.lost().map_or(Ok(0), Err),
            result => self.explain(result),
        }
    }

    fn lost(&self) -> Option<io::Error> {
        let farewell = self.farewell.get()?;
        Some(io::Error::new(
            io::ErrorKind::InvalidData,
            farewell.as_str(),
        ))
    }

    /// The two ends have introduced themselves.
    pub(super) fn agree(&self, established: &Established) {
        let framed = match established.options.framing() {
            Framing::Bare => Framed::Bare,
            Framing::Plain if established.qos => Framed::Lanes,
            Framing::Plain | Framing::Compressed => Framed::Batches,
        };
        self.framed.store(framed as u8, Ordering::SeqCst);
        self.carrier.wake();
    }

    /// Waits until nobody has the link any more. To be awaited in the task that calls [`Carriage::watch`].
    pub(super) async fn left(&self) {
        poll_fn(|context| {
            self.carrier.register(context.waker());
            match self.is_left.load(Ordering::SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// How what follows is framed, and of which priorities the link takes nothing. A change wakes the task that has called
    /// this last.
    pub(super) fn watch(&self, carrier: &Waker) -> (Framed, u8) {
        self.carrier.register(carrier);
        (self.framed(), self.held.load(Ordering::SeqCst))
    }

    /// How much later than a message the receiver may get one of another priority that was sent before it.
    pub(super) fn lag_max(&self) -> Option<Duration> {
        self.lag_max.filter(|_| self.framed() == Framed::Lanes)
    }

    /// The link takes nothing of these priorities until the next call; a bit for each.
    pub(super) fn hold(&self, priorities: u8) {
        if self.held.swap(priorities, Ordering::SeqCst) != priorities {
            self.carrier.wake();
        }
    }

    pub(super) fn framed(&self) -> Framed {
        match self.framed.load(Ordering::SeqCst) {
            0 => Framed::Batches,
            1 => Framed::Lanes,
            _ => Framed::Bare,
        }
    }
}
