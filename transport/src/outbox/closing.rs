// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of a connection in good order: the time until which the peer may take what is queued, and the rest that it has not taken
//! then.

use std::{
    sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use zonda_codec::Priority;

use crate::ended::Ended;

use super::{Outbox, signal};

/// The time that the peer of a link that is closed on its own, not with its node, may take: for what is queued, and to hang up once it
/// has all.
pub const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Until when a close may take.
#[derive(Debug, Default)]
pub(super) struct Closing {
    /// The end of that time in nanoseconds since the outbox was made, and one more; 0 before a close.
    by_ns: AtomicU64,
    /// The word of the peer's system about what the socket had: one of [`UNKNOWN`], [`UNCONFIRMED`], [`ANSWERED`].
    confirmation: AtomicU8,
    /// The reason of a Close that the peer seems to have said, and one more; 0 for none.
    farewell: AtomicU16,
}

const UNKNOWN: u8 = 0;
/// The socket has everything, and the peer's system had not confirmed all of that when it was asked last.
const UNCONFIRMED: u8 = 1;
/// The peer has hung up in good order, when the socket had everything.
const ANSWERED: u8 = 2;

/// The messages that were accepted for a peer and that it has not got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsent {
    /// Messages that the operating system's socket does not have as a whole.
    pub messages: u64,
    /// The bytes of these that it does not have.
    pub bytes: u64,
    /// The socket has more than the peer's system had confirmed when the time of the close was over. Known on Linux only.
    pub is_unconfirmed: bool,
}

impl Unsent {
    /// Returns `true` if the peer has taken everything.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.messages == 0 && !self.is_unconfirmed
    }
}

impl Outbox {
    /// Closes in good order: what is queued is written until `by`, then a Close message, then the socket is shut down.
    /// Nothing more is read from the peer meanwhile. Of two calls the later deadline counts. Does not wait.
    pub fn close(&self, reason: u8, by: Instant) {
        self.signals.set_close_reason(reason);
        let left = by.saturating_duration_since(self.epoch).as_nanos();
        let by_ns = u64::try_from(left).unwrap_or(u64::MAX).saturating_add(1);
        self.closing.by_ns.fetch_max(by_ns, Ordering::SeqCst);
        self.signals.raise(signal::CLOSE);
    }

    /// True once it was closed in good order: what is queued is still written.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.closing.by_ns.load(Ordering::SeqCst) > 0
    }

    /// Waits until the connection has ended.
    pub(crate) async fn over(&self) {
        loop {
            let over = self.listen_over();
            if self.is_closed() {
                return;
            }
            over.await;
        }
    }

    /// When the time of the close is over.
    pub(crate) fn close_by(&self) -> Instant {
        let by_ns = self.closing.by_ns.load(Ordering::SeqCst);
        self.epoch + Duration::from_nanos(by_ns.saturating_sub(1))
    }

    /// Has the driver go on closing, on another link.
    pub(crate) fn close_on(&self) {
        if self.is_closing() {
            self.signals.raise(signal::CLOSE);
        }
    }

    /// Returns what the peer has not got. Of a connection that has ended nothing changes any more. Declarations are left out: the
    /// peer forgets them with the connection, had it got them or not.
    #[must_use]
    pub fn unsent(&self) -> Unsent {
        let under_way = self.writer.lock().transmit().bytes();
        let mut lanes = self.last_priorities();
        lanes.retain(|lane| lane.priority != Priority::Control);
        let waiting: usize = lanes.iter().map(|lane| lane.queued_bytes).sum();
        let messages = lanes.iter().map(|lane| lane.queued).sum();
        Unsent {
            messages,
            bytes: match messages {
                0 => 0,
                _ => (waiting + under_way) as u64,
            },
            is_unconfirmed: self.closing.confirmation.load(Ordering::SeqCst) == UNCONFIRMED,
        }
    }

    /// Tells if the peer's system has confirmed nearly all that the socket has; `None` if this system does not say. Once this was
    /// asked the socket is good for nothing but its end.
    pub(crate) fn is_confirmed(&self) -> Option<bool> {
        let socket = self.writer.lock().direct()?;
        let is_confirmed = socket.is_confirmed()?;
        let (from, to) = match is_confirmed {
            true => (UNCONFIRMED, UNKNOWN),
            false => (UNKNOWN, UNCONFIRMED),
        };
        // it fails where nothing has changed
        let _ = self.closing.confirmation.compare_exchange(
            from,
            to,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        Some(is_confirmed)
    }

    /// Notes a Close that the peer seems to have said, or that it has not.
    pub(crate) fn note_farewell(&self, reason: Option<u8>) {
        let noted = reason.map_or(0, |reason| u16::from(reason) + 1);
        self.closing.farewell.store(noted, Ordering::SeqCst);
    }

    /// The cause of what happens to the socket of a peer that has closed its link.
    pub(super) fn cause(&self, ended: Ended) -> Ended {
        match (self.closing.farewell.load(Ordering::SeqCst), ended) {
            (noted @ 1.., Ended::Io(_) | Ended::HungUp | Ended::Expired) => {
                Ended::Remote(noted.wrapping_sub(1) as u8)
            }
            (_, ended) => ended,
        }
    }

    /// Judges the end of reading: a peer that hangs up once it has everything does what it was asked to.
    pub(crate) fn end_of_reading(&self, ended: Ended) -> Ended {
        let ended = self.cause(ended);
        let hung_up = matches!(ended, Ended::HungUp | Ended::Remote(_));
        if !hung_up || !self.is_closing() || self.has_unsent() {
            return ended;
        }
        self.closing.confirmation.store(ANSWERED, Ordering::SeqCst);
        Ended::Local
    }

    /// Returns `true` if [`Outbox::is_confirmed`] can be known.
    pub(crate) fn tells_confirmed(&self) -> bool {
        self.has_direct
    }
}
