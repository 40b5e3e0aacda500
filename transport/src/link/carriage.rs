// SPDX-License-Identifier: MIT OR Apache-2.0
//! The knowledge that a link and the task that carries its bytes share.

use std::future::poll_fn;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, SystemTime};

use atomic_waker::AtomicWaker;

use crate::protocol::certificate::CertificateNames;
use crate::protocol::options::Framing;
use crate::protocol::parameters::Established;

/// The longest time by which a batch of a stream or link may arrive behind later ones of other streams or links: the network may lose
/// a packet several times, and the sender repeats its content each time.
pub(super) const STREAM_LAG_MAX: Duration = Duration::from_secs(5);

/// The longest time by which a datagram may arrive late; a lost one does not come at all.
pub(super) const DATAGRAM_LAG_MAX: Duration = Duration::from_millis(200);

/// The framing of what follows the introductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framed {
    /// The two ends introduce themselves still, or have batches whose priority does not show.
    Batches = 0,
    /// Batches, each of one priority.
    Lanes = 1,
    /// Single messages.
    Bare = 2,
}

/// Carries the bytes of a link.
pub(super) trait Carries: Send + Sync {
    /// Bytes of memory that it holds of what the link has sent, or is to read; about. Waits for nothing.
    fn held(&self) -> usize;
}

/// The knowledge that a link and the task that carries its bytes share.
#[derive(Debug, Default)]
pub struct Carriage {
    by: Option<Weak<dyn Carries>>,
    /// The time at which the peer's certificate expires.
    valid_until: Option<SystemTime>,
    /// The names in the certificate that the peer has shown.
    certificate: Option<CertificateNames>,
    framed: AtomicU8,
    /// The longest time by which a batch may arrive behind a later one of another priority.
    lag_max: Option<Duration>,
    /// The priorities of which the link takes nothing at the moment, a bit for each.
    held: AtomicU8,
    /// No owner of the link is left.
    is_left: AtomicBool,
    carrier: AtomicWaker,
    /// The words of the peer when it ended the connection.
    farewell: OnceLock<String>,
}

/// A link's share in its carriage. The link ends with the last one, whatever its socket has still to be read.
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

    /// Adds the certificate that the peer has shown.
    pub(super) fn certified(self, certificate: Option<CertificateNames>) -> Carriage {
        Carriage {
            certificate,
            ..self
        }
    }

    pub(super) fn certificate(&self) -> Option<CertificateNames> {
        self.certificate.clone()
    }

    /// Bytes of memory that are held beside the link's own; about.
    pub(super) fn held(&self) -> usize {
        let by = self.by.as_ref().and_then(Weak::upgrade);
        by.map_or(0, |by| by.held())
    }

    pub(super) fn valid_until(&self) -> Option<SystemTime> {
        self.valid_until
    }

    /// Notes the loss of the carrier, for this reason. To be called before the task drops its end of the socket.
    pub(super) fn note_lost(&self, error: &io::Error) {
        if error.get_ref().is_some() {
            self.farewell.get_or_init(|| error.to_string());
        }
    }

    /// Replaces the error of a socket by the words of the peer, if it has said any.
    pub(super) fn explain<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| self.lost().unwrap_or(error))
    }

    /// Does what [`Carriage::explain`] does for a read, of which no bytes are the end.
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

    /// Notes the agreement of the two ends.
    pub(super) fn agree(&self, established: &Established) {
        let framed = match established.options.framing() {
            Framing::Bare => Framed::Bare,
            Framing::Plain if established.qos => Framed::Lanes,
            Framing::Plain | Framing::Compressed => Framed::Batches,
        };
        self.framed.store(framed as u8, Ordering::SeqCst);
        self.carrier.wake();
    }

    /// Waits until no owner of the link is left. To be awaited in the task that calls [`Carriage::watch`].
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

    /// Returns the framing of what follows, and the priorities of which the link takes nothing. A change wakes the task that called
    /// this last.
    pub(super) fn watch(&self, carrier: &Waker) -> (Framed, u8) {
        self.carrier.register(carrier);
        (self.framed(), self.held.load(Ordering::SeqCst))
    }

    /// Returns the longest time by which a message may arrive behind a later one of another priority. This node keeps compressed
    /// batches on one stream, as they hide their priority from its carrier; a peer may spread its own over all streams.
    pub(super) fn lag_max(&self) -> Option<Duration> {
        self.lag_max.filter(|_| self.framed() != Framed::Bare)
    }

    /// Takes nothing of these priorities until the next call; a bit for each.
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
