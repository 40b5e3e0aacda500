// SPDX-License-Identifier: MIT OR Apache-2.0
//! Close of a connection in good order: the time in which the peer may take what is queued, and the
//! count of what it has not taken by then.

use std::{
    sync::atomic::{AtomicU8, AtomicU16, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use zonda_codec::Priority;

use crate::ended::Ended;

use super::{Outbox, signal};

/// Time for the peer of a link that is closed on its own, not with its node: to take what is
/// queued, and to hang up once it has all.
pub const CLOSE_GRACE: Duration = Duration::from_secs(1);

/// Deadline of a close, and its progress.
#[derive(Debug, Default)]
pub(super) struct Closing {
    /// The end of that time in nanoseconds since the outbox was made, and one more; 0 before a close.
    by_ns: AtomicU64,
    /// Answer of the peer's system about the bytes of the socket: [`UNKNOWN`], [`UNCONFIRMED`] or
    /// [`ANSWERED`].
    confirmation: AtomicU8,
    /// Reason of a Close that the peer seems to have sent, plus one; 0 for none.
    farewell: AtomicU16,
}

const UNKNOWN: u8 = 0;
/// The socket has everything, and the peer's system had not confirmed all of it at the last look.
const UNCONFIRMED: u8 = 1;
/// The peer has hung up in good order, when the socket had everything.
const ANSWERED: u8 = 2;

/// Messages that were accepted for a peer and that it has not got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsent {
    /// Messages that the operating system's socket does not have as a whole.
    pub messages: u64,
    /// Bytes of these messages that the socket does not have.
    pub bytes: u64,
    /// Set if the socket has more than the peer's system had confirmed at the end of the close.
    /// Known on Linux only.
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
    /// Closes in good order: no more messages are taken, what is queued is written until `by`, then
    /// a Close message, then the socket is shut down. The reading task reads nothing more from the
    /// peer. Of two calls the later deadline counts. Does not wait.
    pub fn close(&self, reason: u8, by: Instant) {
        // A message that is taken during the close would follow the Close message, or be left once
        // everything before it has been written.
        self.takes_no_more.store(true, Ordering::SeqCst);
        self.signals.set_close_reason(reason);
        let left = by.saturating_duration_since(self.epoch).as_nanos();
        let by_ns = u64::try_from(left).unwrap_or(u64::MAX).saturating_add(1);
        self.closing.by_ns.fetch_max(by_ns, Ordering::SeqCst);
        self.room.tell_all();
        self.signals.raise(signal::CLOSE);
    }

    /// Returns true once the close has begun: what is queued is still written.
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

    /// Returns the deadline of the close.
    pub(crate) fn close_by(&self) -> Instant {
        let by_ns = self.closing.by_ns.load(Ordering::SeqCst);
        self.epoch + Duration::from_nanos(by_ns.saturating_sub(1))
    }

    /// Makes the driver continue the close on another link.
    pub(crate) fn close_on(&self) {
        if self.is_closing() {
            self.signals.raise(signal::CLOSE);
        }
    }

    /// Returns what the peer has not got. The result is final once the connection has ended.
    /// Declarations are left out: the peer forgets them with the connection, whether it got them or
    /// not.
    #[must_use]
    pub fn unsent(&self) -> Unsent {
        let under_way = self.writer.lock().under_way();
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

    /// Returns true if the peer's system has confirmed nearly all bytes of the socket; `None` if
    /// this system cannot know. After this call the socket can only be closed.
    pub(crate) fn is_confirmed(&self) -> Option<bool> {
        let socket = self.writer.lock().direct()?;
        let is_confirmed = socket.is_confirmed()?;
        let (from, to) = match is_confirmed {
            true => (UNCONFIRMED, UNKNOWN),
            false => (UNKNOWN, UNCONFIRMED),
        };
        // Fails where nothing has changed.
        let _ = self.closing.confirmation.compare_exchange(
            from,
            to,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        Some(is_confirmed)
    }

    /// Notes a Close that the peer seems to have sent, or with `None` that it did not send one.
    pub(crate) fn note_farewell(&self, reason: Option<u8>) {
        let noted = reason.map_or(0, |reason| u16::from(reason) + 1);
        self.closing.farewell.store(noted, Ordering::SeqCst);
    }

    /// Returns the cause of errors on the socket of a peer that has closed its link.
    pub(super) fn cause(&self, ended: Ended) -> Ended {
        match (self.closing.farewell.load(Ordering::SeqCst), ended) {
            (noted @ 1.., Ended::Io(_) | Ended::HungUp | Ended::Expired) => {
                Ended::Remote(noted.wrapping_sub(1) as u8)
            }
            (_, ended) => ended,
        }
    }

    /// Returns the cause for the end of reading: a peer that hangs up once it has everything ends a
    /// close in good order.
    pub(crate) fn end_of_reading(&self, ended: Ended) -> Ended {
        let ended = self.cause(ended);
        let hung_up = matches!(ended, Ended::HungUp | Ended::Remote(_));
        if !hung_up || !self.is_closing() || self.has_unsent() {
            return ended;
        }
        self.closing.confirmation.store(ANSWERED, Ordering::SeqCst);
        Ended::Local
    }

    /// Returns true if [`Outbox::is_confirmed`] can be known.
    pub(crate) fn tells_confirmed(&self) -> bool {
        self.has_direct && !self.is_divided()
    }
}
