// SPDX-License-Identifier: MIT OR Apache-2.0
//! State shared by a link and its carrier task.

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

/// Longest time by which a batch of a stream or link may arrive behind later ones of other streams
/// or links: the network may lose a packet several times, and the sender repeats its content each
/// time.
pub(super) const STREAM_LAG_MAX: Duration = Duration::from_secs(5);

/// Longest time by which a datagram may arrive late; a lost one does not arrive at all.
pub(super) const DATAGRAM_LAG_MAX: Duration = Duration::from_millis(200);

/// Framing of the bytes behind the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framed {
    /// The handshake is not over, or batches hide their priority.
    Batches = 0,
    /// Batches, each of one priority.
    Lanes = 1,
    /// Single messages.
    Bare = 2,
}

/// Carrier of a link's bytes.
pub(super) trait ByteCarrier: Send + Sync {
    /// Returns the approximate bytes of memory that the carrier holds of sent and received data.
    /// Does not wait.
    fn held(&self) -> usize;
}

/// State shared by a link and its carrier task.
#[derive(Debug, Default)]
pub struct CarrierState {
    by: Option<Weak<dyn ByteCarrier>>,
    /// Time at which the peer's certificate expires.
    valid_until: Option<SystemTime>,
    /// Names in the peer's certificate, if it has shown one.
    certificate: Option<CertificateNames>,
    framed: AtomicU8,
    /// Longest time by which a batch may arrive behind a later one of another priority.
    lag_max: Option<Duration>,
    /// Bits of the priorities that the link does not read at the moment.
    held: AtomicU8,
    /// Set once no owner of the link is left.
    is_left: AtomicBool,
    carrier: AtomicWaker,
    /// Reason that the peer gave when it ended the connection.
    farewell: OnceLock<String>,
}

/// Handle of a link on its carriage. The link ends when the handle is dropped, even if its socket
/// has unread bytes.
#[derive(Debug)]
pub struct CarrierHandle(Arc<CarrierState>);

impl CarrierHandle {
    #[cfg_attr(not(feature = "quic"), allow(dead_code, reason = "nothing carries"))]
    pub(super) fn of(carriage: Arc<CarrierState>) -> Arc<CarrierHandle> {
        Arc::new(CarrierHandle(carriage))
    }
}

impl Deref for CarrierHandle {
    type Target = CarrierState;

    fn deref(&self) -> &CarrierState {
        &self.0
    }
}

impl Drop for CarrierHandle {
    fn drop(&mut self) {
        self.0.is_left.store(true, Ordering::SeqCst);
        self.0.carrier.wake();
    }
}

#[cfg_attr(not(feature = "quic"), allow(dead_code, reason = "nothing carries"))]
impl CarrierState {
    pub(super) fn new(
        by: Weak<dyn ByteCarrier>,
        valid_until: Option<SystemTime>,
        lag_max: Option<Duration>,
    ) -> CarrierState {
        CarrierState {
            by: Some(by),
            valid_until,
            lag_max,
            ..CarrierState::default()
        }
    }

    /// Adds the certificate that the peer has shown.
    pub(super) fn certified(self, certificate: Option<CertificateNames>) -> CarrierState {
        CarrierState {
            certificate,
            ..self
        }
    }

    pub(super) fn certificate(&self) -> Option<CertificateNames> {
        self.certificate.clone()
    }

    /// Returns the approximate bytes of memory that are held in addition to the link's own.
    pub(super) fn held(&self) -> usize {
        let by = self.by.as_ref().and_then(Weak::upgrade);
        by.map_or(0, |by| by.held())
    }

    pub(super) fn valid_until(&self) -> Option<SystemTime> {
        self.valid_until
    }

    /// Notes the loss of the carrier, for this reason. The task calls it before it drops its end of
    /// the socket.
    pub(super) fn note_lost(&self, error: &io::Error) {
        if error.get_ref().is_some() {
            self.farewell.get_or_init(|| error.to_string());
        }
    }

    /// Replaces the error of a socket by the reason of the peer, if it gave one.
    pub(super) fn explain<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| self.lost().unwrap_or(error))
    }

    /// Replaces the error of a read like [`CarrierState::explain`]; a read of no bytes is the end of
    /// the link.
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

    /// Waits until no owner of the link is left. Awaited in the task that calls
    /// [`CarrierState::watch`].
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

    /// Returns the framing of the next bytes, and the priorities that the link does not read. A
    /// change wakes the last caller's task.
    pub(super) fn watch(&self, carrier: &Waker) -> (Framed, u8) {
        self.carrier.register(carrier);
        (self.framed(), self.held.load(Ordering::SeqCst))
    }

    /// Returns the longest time by which a message may arrive behind a later one of another
    /// priority. This node keeps compressed batches on one stream, as they hide their priority from
    /// its carrier; a peer may spread its own over all streams.
    pub(super) fn lag_max(&self) -> Option<Duration> {
        self.lag_max.filter(|_| self.framed() != Framed::Bare)
    }

    /// Stops reading these priorities until the next call; a bit for each.
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
