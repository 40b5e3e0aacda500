// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of what has arrived on a connection.

use zonda_codec::Priority;

/// Number of priorities.
pub(super) const PRIORITIES: usize = Priority::ALL.len();

/// Counts of a [`Receiver`](super::Receiver) since the link opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Batches taken.
    pub batches: u64,
    /// Bytes read from the link, as the reading task [notes](super::Receiver::note_bytes) them.
    pub bytes: u64,
    /// Transport messages taken: frames, fragments, keep-alives and others.
    pub transport_messages: u64,
    /// Network messages delivered.
    pub messages: u64,
    /// Of these, those of each priority.
    pub messages_by_priority: [u64; PRIORITIES],
    /// Frames dropped because their sequence number was old or repeated.
    pub frames_dropped: u64,
    /// Fragments dropped because their sequence number was old or repeated.
    pub fragments_dropped: u64,
    /// Sequence numbers that never arrived, or arrived too late to be accepted.
    pub sequence_numbers_skipped: u64,
    /// Fragments accepted that did not become part of a message.
    pub fragments_discarded: u64,
    /// Fragmented messages given up before their end: interrupted, abandoned or over a limit.
    pub messages_discarded: u64,
    /// Messages of these that were over a limit.
    pub messages_too_large: u64,
    /// Messages reassembled from fragments that could not be decoded, and those in shared memory.
    pub messages_undecodable: u64,
    /// Messages dropped because their payload lies in shared memory, in fragments or not: of a link whose ends do not
    /// share memory, or with a payload that was refused.
    pub messages_in_shared_memory: u64,
    /// Payloads, or pieces of them, that arrived in shared memory on a link whose ends share it.
    pub descriptors: u64,
    /// Transport messages without a meaning on an open link (INIT, OPEN, JOIN, OAM).
    pub ignored: u64,
    /// Number of times that a priority had to wait for a declaration that was still on its way.
    pub lanes_held: u64,
}

/// Counts of what has arrived on a connection since it opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arrived {
    /// Bytes read from the link, framing included.
    pub bytes: u64,
    /// Transport messages: frames, fragments, keep-alives and others.
    pub transport_messages: u64,
    /// Network messages of each priority, the most urgent first; all count as [`Priority::Data`]
    /// where the peer knows no priorities.
    pub messages: [u64; PRIORITIES],
}

impl Arrived {
    /// Adds the counts of another connection.
    pub fn add(&mut self, other: &Arrived) {
        self.bytes += other.bytes;
        self.transport_messages += other.transport_messages;
        for (count, other) in self.messages.iter_mut().zip(other.messages) {
            *count += other;
        }
    }

    /// Returns the growth since an earlier time.
    #[must_use]
    pub fn since(&self, before: &Arrived) -> Arrived {
        let mut grown = *self;
        grown.bytes -= before.bytes;
        grown.transport_messages -= before.transport_messages;
        for (count, before) in grown.messages.iter_mut().zip(before.messages) {
            *count -= before;
        }
        grown
    }
}
