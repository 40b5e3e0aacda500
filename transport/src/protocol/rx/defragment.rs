// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts messages together from their fragments, per channel, within byte limits that the peer
//! cannot raise.
//!
//! A message grows in one contiguous vector that becomes a [`ZSlice`] without a copy. The vector is
//! at most twice as large as the bytes received for it (plus one small first step), unless it is the
//! one spare kept from before: when the receivers of a message have let go of it, its vector serves
//! a later one; while anybody still holds it, it is left alone.

use std::sync::Arc;

use zenoh_buffers::ZSlice;

use super::CHANNELS;

/// A vector larger than this is not kept for the next message.
const SPARE_BYTES_MAX: usize = 4 << 20;
/// The first allocation for a message, in bytes.
const FIRST_BYTES: usize = 4096;

/// How many bytes of unfinished messages may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReassemblyLimits {
    /// For one message, in bytes.
    pub message_bytes_max: usize,
    /// For the unfinished messages of all channels together, in bytes.
    pub total_bytes_max: usize,
}

impl ReassemblyLimits {
    /// Limits for messages of up to `message_bytes_max`, of which two may be under way at full size.
    pub fn for_messages(message_bytes_max: usize) -> Self {
        ReassemblyLimits {
            message_bytes_max,
            total_bytes_max: message_bytes_max.saturating_mul(2),
        }
    }
}

/// One fragment as the defragmenter sees it; its sequence number has been accepted.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Whether its sequence number directly follows the last one accepted on the channel.
    pub follows: bool,
    /// Whether more fragments of the message are to come.
    pub more: bool,
    /// The mark of a message's first fragment.
    pub first: bool,
    /// The mark that the message in progress is given up by its sender.
    pub drop: bool,
    /// The bytes.
    pub payload: &'a [u8],
}

/// What a fragment led to.
#[derive(Debug)]
pub enum Reassembly<'a> {
    /// More fragments are needed, or the fragment was of no use.
    Pending,
    /// The fragment is a whole message by itself; it can be read where it lies.
    Single(&'a [u8]),
    /// The message is complete.
    Complete(ZSlice),
}

/// The unfinished messages of one direction, at most one per channel.
#[derive(Debug)]
pub struct Defragmenter {
    limits: ReassemblyLimits,
    /// Whether the First and Drop marks count (patch level 1 and up).
    marks: bool,
    channels: [Unfinished; CHANNELS],
    total_bytes: usize,
    spare: Option<Arc<Vec<u8>>>,
    messages_discarded: u64,
    fragments_discarded: u64,
}

#[derive(Debug, Default)]
struct Unfinished {
    active: bool,
    bytes: Vec<u8>,
    fragments: u64,
}

impl Defragmenter {
    /// An empty defragmenter; `patch` is the agreed level.
    pub fn new(patch: u8, limits: ReassemblyLimits) -> Self {
        Defragmenter {
            limits,
            marks: patch >= 1,
            channels: Default::default(),
            total_bytes: 0,
            spare: None,
            messages_discarded: 0,
            fragments_discarded: 0,
        }
    }

    /// Bytes of unfinished messages held now; never above the total limit.
    pub fn buffered_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Bytes allocated for unfinished messages and kept for the next one.
    pub fn allocated_bytes(&self) -> usize {
        let spare = self.spare.as_ref().map_or(0, |spare| spare.capacity());
        spare
            + self
                .channels
                .iter()
                .map(|channel| channel.bytes.capacity())
                .sum::<usize>()
    }

    /// Messages given up before their last fragment.
    pub fn messages_discarded(&self) -> u64 {
        self.messages_discarded
    }

    /// Fragments that did not become part of a message.
    pub fn fragments_discarded(&self) -> u64 {
        self.fragments_discarded
    }

    /// A frame was accepted on `channel`: a message in progress there cannot be completed any more.
    #[inline]
    pub fn interrupt(&mut self, channel: usize) {
        if self
            .channels
            .get(channel)
            .is_some_and(|unfinished| unfinished.active)
        {
            self.discard(channel);
        }
    }

    /// Takes the next fragment of `channel`.
    pub fn push<'a>(&mut self, channel: usize, piece: Piece<'a>) -> Reassembly<'a> {
        if self.begins(channel, &piece) {
            if !piece.more {
                return self.single(piece.payload);
            }
        } else if !self.continues(channel, &piece) {
            self.fragments_discarded += 1;
            return Reassembly::Pending;
        }
        if !self.append(channel, piece.payload) {
            self.discard(channel);
            return Reassembly::Pending;
        }
        match piece.more {
            true => Reassembly::Pending,
            false => Reassembly::Complete(self.finish(channel)),
        }
    }

    /// Whether the fragment starts a message. If it does, the one in progress is discarded.
    fn begins(&mut self, channel: usize, piece: &Piece<'_>) -> bool {
        let active = self
            .channels
            .get(channel)
            .is_some_and(|unfinished| unfinished.active);
        let begins = match self.marks {
            true => piece.first && !piece.drop,
            false => !active,
        };
        if begins && active {
            self.discard(channel);
        }
        begins
    }

    /// Whether the fragment continues the message in progress. If it cannot, that is discarded.
    fn continues(&mut self, channel: usize, piece: &Piece<'_>) -> bool {
        let active = self
            .channels
            .get(channel)
            .is_some_and(|unfinished| unfinished.active);
        let given_up = self.marks && piece.drop;
        if active && (given_up || !piece.follows) {
            self.discard(channel);
            return false;
        }
        active && !given_up
    }

    fn single<'a>(&mut self, payload: &'a [u8]) -> Reassembly<'a> {
        if payload.len() > self.limits.message_bytes_max {
            self.messages_discarded += 1;
            self.fragments_discarded += 1;
            return Reassembly::Pending;
        }
        Reassembly::Single(payload)
    }

    /// Adds bytes to the message of `channel`; false if a limit or the allocator forbids it.
    fn append(&mut self, channel: usize, payload: &[u8]) -> bool {
        let spare = &mut self.spare;
        let Some(unfinished) = self.channels.get_mut(channel) else {
            return false;
        };
        if !unfinished.active {
            unfinished.active = true;
            unfinished.bytes = spare.take().and_then(Arc::into_inner).unwrap_or_default();
            unfinished.bytes.clear();
        }
        unfinished.fragments += 1;
        let message_bytes = unfinished.bytes.len().saturating_add(payload.len());
        let total_bytes = self.total_bytes.saturating_add(payload.len());
        let fits = message_bytes <= self.limits.message_bytes_max
            && total_bytes <= self.limits.total_bytes_max
            && grow(&mut unfinished.bytes, message_bytes);
        if fits {
            unfinished.bytes.extend_from_slice(payload);
            self.total_bytes = total_bytes;
        }
        fits
    }

    fn finish(&mut self, channel: usize) -> ZSlice {
        let unfinished = std::mem::take(&mut self.channels[channel]);
        self.total_bytes -= unfinished.bytes.len();
        let bytes = Arc::new(unfinished.bytes);
        if bytes.capacity() <= SPARE_BYTES_MAX {
            self.spare = Some(bytes.clone());
        }
        ZSlice::from(bytes)
    }

    fn discard(&mut self, channel: usize) {
        let unfinished = std::mem::take(&mut self.channels[channel]);
        self.total_bytes -= unfinished.bytes.len();
        self.messages_discarded += 1;
        self.fragments_discarded += unfinished.fragments;
        if self.spare.is_none() && unfinished.bytes.capacity() <= SPARE_BYTES_MAX {
            self.spare = Some(Arc::new(unfinished.bytes));
        }
    }
}

/// Makes room for `needed` bytes by doubling; false if the allocator has none.
fn grow(bytes: &mut Vec<u8>, needed: usize) -> bool {
    if needed <= bytes.capacity() {
        return true;
    }
    let target = needed.max(bytes.len().saturating_mul(2)).max(FIRST_BYTES);
    bytes.try_reserve_exact(target - bytes.len()).is_ok()
}
