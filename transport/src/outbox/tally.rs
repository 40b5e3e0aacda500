// SPDX-License-Identifier: MIT OR Apache-2.0

//! Live counters of an outbox.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use zonda_codec::Priority;

use crate::protocol::rx::Received;
use crate::protocol::tx::Batch;

/// Counters of an outbox since its connection opened.
#[derive(Debug, Default)]
pub struct OutboxCounters {
    /// Messages that were refused with [`Refused::Full`](super::Refused::Full).
    pub refused_full: AtomicU64,
    /// Messages that were refused with [`Refused::TooLong`](super::Refused::TooLong).
    pub refused_too_long: AtomicU64,
    /// Messages dropped by congestion control, counted by the sender that decided it.
    pub dropped: AtomicU64,
    /// Writes that the sender's own thread made.
    pub writes_direct: AtomicU64,
    /// Writes that the driver made.
    pub writes_driver: AtomicU64,
    /// Bytes handed to the socket, framing included.
    pub bytes: AtomicU64,
}

/// Counters of a priority outside its lane's lock.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) sent: AtomicU64,
    pub(super) sent_bytes: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl Tally {
    /// Notes that the socket has all of `batch`. Only for the holder of the writer.
    pub(super) fn departed(&self, batch: &Batch) {
        let bytes = self.sent_bytes.load(Ordering::Relaxed) + batch.wire_len() as u64;
        self.sent_bytes.store(bytes, Ordering::Relaxed);
        self.sent.store(batch.last_message(), Ordering::Relaxed);
    }
}

/// Counters of what has arrived, in the order of the fields of
/// [`Arrived`](crate::protocol::rx::Arrived).
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    pub(super) bytes: AtomicU64,
    pub(super) transport_messages: AtomicU64,
    pub(super) messages: [AtomicU64; 8],
}

/// Counters of received and discarded items, in the order of the fields of
/// [`Discarded`](super::Discarded).
#[derive(Debug, Default)]
pub(super) struct Discards(pub(super) [AtomicU64; 5], AtomicBool);

impl Discards {
    /// Returns true if a message in shared memory is counted, for the first call that finds one.
    pub(super) fn is_shared_for_the_first_time(&self, received: &Received) -> bool {
        received.messages_in_shared_memory > 0 && !self.1.swap(true, Ordering::Relaxed)
    }
}

/// Returns the index of a priority's lane among `lanes`: one lane serves all where the peer knows
/// no priorities.
#[inline]
pub(super) fn lane_index(lanes: usize, priority: Priority) -> usize {
    match lanes {
        1 => 0,
        _ => priority as usize,
    }
}
