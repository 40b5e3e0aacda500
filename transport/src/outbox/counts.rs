// SPDX-License-Identifier: MIT OR Apache-2.0
//! Snapshots of an outbox's counters, as plain numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use zonda_codec::Priority;

use super::{Outbox, OutboxCounters, writer::SocketWriter};

/// The counters of one connection's sending half at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutboxCounts {
    /// Attempts that found the queue full; a sender that retries makes several for one message.
    pub refused_full: u64,
    /// Messages that no batch can hold because a field is longer than the protocol allows.
    pub refused_too_long: u64,
    /// Messages that congestion control dropped.
    pub dropped: u64,
    /// Writes that the sender's own thread made.
    pub writes_direct: u64,
    /// Writes that the driver made.
    pub writes_driver: u64,
    /// Bytes handed to the socket, framing included.
    pub bytes: u64,
}

impl OutboxCounters {
    /// Returns the current counters.
    #[must_use]
    pub fn snapshot(&self) -> OutboxCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        OutboxCounts {
            refused_full: read(&self.refused_full),
            refused_too_long: read(&self.refused_too_long),
            dropped: read(&self.dropped),
            writes_direct: read(&self.writes_direct),
            writes_driver: read(&self.writes_driver),
            bytes: read(&self.bytes),
        }
    }
}

/// Share of an outbox in a node's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutboxMemory {
    /// Bytes of its own buffers.
    pub own: usize,
    /// Approximate bytes that become free when the peer is gone: other owners may share the
    /// payloads.
    pub kept: usize,
}

/// Counts of the messages of one priority at one moment. At any moment `accepted = sent + queued`,
/// and the offered messages are `accepted + dropped + refused`; once the connection is closed,
/// messages that are still `queued` are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PriorityCounts {
    /// Priority; [`Priority::Data`] for all together where the peer knows no priorities.
    pub priority: Priority,
    /// Messages that were taken into the queue.
    pub accepted: u64,
    /// Accepted messages that the operating system's socket has as a whole.
    pub sent: u64,
    /// Bytes of the batches that the socket has as a whole, framing included.
    pub sent_bytes: u64,
    /// Messages that wait, whole or in part.
    pub queued: u64,
    /// Bytes that wait. A batch that is being written does not count.
    pub queued_bytes: usize,
    /// Messages that congestion control dropped because the queue was full.
    pub dropped: u64,
    /// Messages that were returned to a sender that did not wait, or stopped waiting.
    pub refused: u64,
}

impl PriorityCounts {
    /// Returns counts of zero.
    #[must_use]
    pub fn none(priority: Priority) -> Self {
        Self {
            priority,
            accepted: 0,
            sent: 0,
            sent_bytes: 0,
            queued: 0,
            queued_bytes: 0,
            dropped: 0,
            refused: 0,
        }
    }

    /// Adds the counts of another connection.
    pub fn add(&mut self, other: &PriorityCounts) {
        self.accepted += other.accepted;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.queued += other.queued;
        self.queued_bytes += other.queued_bytes;
        self.dropped += other.dropped;
        self.refused += other.refused;
    }
}

impl Outbox {
    /// Returns the counts of each priority, the most urgent first.
    #[must_use]
    pub fn priorities(&self) -> Vec<PriorityCounts> {
        let lanes = self.lanes.iter().zip(&self.tallies);
        let counts = lanes.zip(Priority::ALL).map(|((lane, tally), priority)| {
            let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let lane = lane.lock();
            // The lane is locked, so that no message becomes sent before it is counted as accepted.
            let (accepted, sent) = (lane.accepted(), read(&tally.sent));
            PriorityCounts {
                priority: match self.lanes.len() {
                    1 => Priority::Data,
                    _ => priority,
                },
                accepted,
                sent,
                sent_bytes: read(&tally.sent_bytes),
                queued: accepted.saturating_sub(sent),
                queued_bytes: lane.queued_bytes(),
                dropped: read(&tally.dropped),
                refused: read(&tally.refused),
            }
        });
        counts.collect()
    }

    /// Returns the final counts of a closed connection, once a write that is under way on a
    /// sender's thread has ended.
    #[must_use]
    pub fn last_priorities(&self) -> Vec<PriorityCounts> {
        let writer = self.writer.lock();
        self.note_whole_messages(&writer);
        drop(writer);
        self.priorities()
    }

    /// Counts the bare messages that the socket has: the peer takes each one by itself, not a batch
    /// as a whole.
    pub(super) fn note_whole_messages(&self, writer: &SocketWriter) {
        if self.framing.is_bare()
            && let Some(sent) = writer.transmit().last_whole_message()
            && let Some(tally) = self.tallies.first()
        {
            tally.sent.fetch_max(sent, Ordering::Relaxed);
        }
    }

    /// Returns the bytes of memory that its buffers take, and the total that it keeps: with the
    /// payloads in its queues, and the blocks in which the payloads lie.
    #[must_use]
    pub fn memory(&self) -> OutboxMemory {
        let writer = self.writer.try_lock().map_or(0, |writer| writer.memory());
        let mut memory = OutboxMemory {
            own: size_of::<Self>() + writer,
            kept: 0,
        };
        let is_over = self.is_released();
        for lane in &self.lanes {
            let lane = lane.lock();
            memory.own += lane.memory();
            if !is_over {
                memory.kept += lane.queued_bytes().max(lane.pinned());
            }
        }
        memory
    }

    /// Counts a message that congestion control dropped.
    pub fn count_dropped(&self, priority: Priority) {
        self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        let tally = &self.tallies[self.lane_index(priority)];
        tally.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a message whose sender did not wait for room, or stopped waiting.
    pub fn count_refused(&self, priority: Priority) {
        let tally = &self.tallies[self.lane_index(priority)];
        tally.refused.fetch_add(1, Ordering::Relaxed);
    }
}
