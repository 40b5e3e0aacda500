// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reassembly of messages from their fragments, per channel, within byte limits that the peer
//! cannot raise.
//!
//! A message grows in one contiguous vector that becomes a [`ZSlice`] without a copy. The vector is
//! at most twice as large as the bytes received for it (plus one fragment), unless it is one kept
//! from before: when all receivers of a message have dropped it, its vector is reused for a later
//! one; while any of them holds it, the vector is not touched.

use std::sync::Arc;

use zonda_codec::ZSlice;

use crate::ledger::Share;

use super::{
    CHANNELS,
    message_buffer::{BufferPool, MessageBuffer},
};

/// Maximum bytes of unfinished messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReassemblyLimits {
    /// Maximum bytes of one message.
    pub message_bytes_max: usize,
    /// Maximum bytes of the unfinished messages of all channels together.
    pub total_bytes_max: usize,
}

impl ReassemblyLimits {
    /// Returns the limits for messages of up to `message_bytes_max`, of which two may be under way
    /// at full size.
    pub fn for_messages(message_bytes_max: usize) -> Self {
        ReassemblyLimits {
            message_bytes_max,
            total_bytes_max: message_bytes_max.saturating_mul(2),
        }
    }
}

/// Fragment as the defragmenter sees it; its sequence number has been accepted.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Set if its sequence number directly follows the last one accepted on the channel.
    pub follows: bool,
    /// Set if more fragments of the message follow.
    pub more: bool,
    /// Flag of a message's first fragment.
    pub first: bool,
    /// Flag of a message that its sender has given up.
    pub drop: bool,
    /// Payload of the fragment.
    pub payload: &'a [u8],
}

/// Result of a fragment.
#[derive(Debug)]
pub enum Reassembly<'a> {
    /// More fragments are needed, or the fragment was of no use.
    Pending,
    /// The fragment is a whole message by itself; it can be read where it lies.
    Single(&'a [u8]),
    /// The message is complete.
    Complete(ZSlice),
}

/// Unfinished messages of one direction, at most one per channel.
#[derive(Debug)]
pub struct Defragmenter {
    limits: ReassemblyLimits,
    /// Set if the First and Drop flags count (patch level 1 and up).
    marks: bool,
    /// State of each channel. Boxed, because a task that holds the defragmenter by value is moved
    /// with it.
    channels: Box<[Unfinished]>,
    total_bytes: usize,
    spares: BufferPool,
    share: Option<Arc<Share>>,
    was_refused: bool,
    messages_discarded: u64,
    messages_too_large: u64,
    fragments_discarded: u64,
}

#[derive(Debug, Default)]
struct Unfinished {
    active: bool,
    message: MessageBuffer,
    fragments: u64,
}

impl Defragmenter {
    /// Creates an empty defragmenter; `patch` is the agreed level.
    pub fn new(patch: u8, limits: ReassemblyLimits) -> Self {
        Defragmenter {
            limits,
            marks: patch >= 1,
            channels: std::iter::repeat_with(Unfinished::default)
                .take(CHANNELS)
                .collect(),
            total_bytes: 0,
            spares: BufferPool::default(),
            share: None,
            was_refused: false,
            messages_discarded: 0,
            messages_too_large: 0,
            fragments_discarded: 0,
        }
    }

    /// Returns the defragmenter with its allocations counted in `share`, and with the limit
    /// `total_bytes_max` for all unfinished messages.
    pub fn within(mut self, share: Arc<Share>, total_bytes_max: usize) -> Self {
        self.limits.total_bytes_max = total_bytes_max;
        self.spares = BufferPool::counted_in(share.ledger());
        self.share = Some(share);
        self
    }

    /// Returns the share in which its memory is counted.
    pub fn share(&self) -> Option<&Arc<Share>> {
        self.share.as_ref()
    }

    /// Returns true if a message was given up because there was no memory for it.
    #[inline]
    pub fn was_refused(&self) -> bool {
        self.was_refused
    }

    /// Updates the share after the memory for unfinished messages has changed.
    #[cold]
    fn tell_share(&self) {
        if let Some(share) = &self.share {
            let unfinished = self.channels.iter();
            share.set_unfinished(unfinished.map(|channel| channel.message.capacity()).sum());
        }
    }

    /// Returns the bytes of unfinished messages; never above the total limit.
    pub fn buffered_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Returns the bytes allocated for unfinished messages and kept for the next one.
    pub fn allocated_bytes(&self) -> usize {
        let unfinished = self.channels.iter();
        let growing = unfinished.map(|channel| channel.message.capacity());
        self.spares.allocated_bytes() + growing.sum::<usize>()
    }

    /// Returns the number of messages given up before their last fragment.
    pub fn messages_discarded(&self) -> u64 {
        self.messages_discarded
    }

    /// Returns the number of messages given up because of a limit.
    pub fn messages_too_large(&self) -> u64 {
        self.messages_too_large
    }

    /// Returns the number of fragments that did not become part of a message.
    pub fn fragments_discarded(&self) -> u64 {
        self.fragments_discarded
    }

    /// Counts a message in one piece that is longer than messages may be.
    #[cold]
    pub(super) fn note_too_large(&mut self) {
        self.messages_discarded += 1;
        self.messages_too_large += 1;
    }

    /// Notes a frame on `channel`: a message in progress there cannot be completed any more.
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

    /// Processes the next fragment of `channel`.
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
            self.messages_too_large += 1;
            self.discard(channel);
            return Reassembly::Pending;
        }
        match piece.more {
            true => Reassembly::Pending,
            false => Reassembly::Complete(self.finish(channel)),
        }
    }

    /// Returns true if the fragment starts a message. If so, the one in progress is discarded.
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

    /// Returns true if the fragment continues the message in progress. If it cannot, the message is
    /// discarded.
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
            self.messages_too_large += 1;
            self.fragments_discarded += 1;
            return Reassembly::Pending;
        }
        Reassembly::Single(payload)
    }

    /// Appends bytes to the message of `channel`; false if a limit or the allocator forbids it.
    fn append(&mut self, channel: usize, payload: &[u8]) -> bool {
        let fits = self.fits(channel, payload.len());
        let Some(unfinished) = self.channels.get_mut(channel) else {
            return false;
        };
        unfinished.begin(&mut self.spares);
        unfinished.fragments += 1;
        let before = unfinished.message.capacity();
        let has_memory = !fits || unfinished.message.reserve(payload.len());
        self.was_refused |= !has_memory;
        let fits = fits && has_memory;
        if fits {
            unfinished.message.append(payload);
            self.total_bytes += payload.len();
        }
        if self.channels[channel].message.capacity() != before {
            self.tell_share();
        }
        fits
    }

    /// Returns true if the limits allow `bytes` more on `channel`.
    fn fits(&self, channel: usize, bytes: usize) -> bool {
        let unfinished = self.channels.get(channel);
        let message = unfinished.map_or(usize::MAX, |unfinished| unfinished.message.filled());
        message.saturating_add(bytes) <= self.limits.message_bytes_max
            && self.total_bytes.saturating_add(bytes) <= self.limits.total_bytes_max
    }

    fn finish(&mut self, channel: usize) -> ZSlice {
        let unfinished = std::mem::take(&mut self.channels[channel]);
        self.total_bytes -= unfinished.message.filled();
        self.tell_share();
        self.spares.finish(unfinished.message)
    }

    fn discard(&mut self, channel: usize) {
        let unfinished = std::mem::take(&mut self.channels[channel]);
        self.total_bytes -= unfinished.message.filled();
        self.messages_discarded += 1;
        self.fragments_discarded += unfinished.fragments;
        self.tell_share();
    }

    /// Returns true if more memory is kept for later messages than an idle link should hold.
    pub fn keeps_much(&self) -> bool {
        self.spares.is_large()
    }

    /// Frees the memory kept for later messages.
    pub fn release(&mut self) {
        self.spares.release_large();
    }
}

impl Unfinished {
    fn begin(&mut self, spares: &mut BufferPool) {
        if !self.active {
            self.active = true;
            self.message = spares.take();
        }
    }
}

/// Fragments whose bytes are read to their place in the message, for [`super::receiver`].
impl Defragmenter {
    /// Returns true if a fragment just continues the message of `channel`, and there is memory for
    /// its bytes and as many behind it. If so its bytes arrive by [`Defragmenter::landing`].
    pub(super) fn land(
        &mut self,
        channel: usize,
        piece: &Piece<'_>,
        bytes: usize,
        behind: usize,
    ) -> bool {
        let fits = self.fits(channel, bytes);
        let starts = self.marks && (piece.first || piece.drop);
        let Some(unfinished) = self.channels.get_mut(channel) else {
            return false;
        };
        let before = unfinished.message.capacity();
        let lands = unfinished.active
            && piece.follows
            && !starts
            && fits
            && unfinished.message.prepare(bytes + behind);
        unfinished.fragments += u64::from(lands);
        if self.channels[channel].message.capacity() != before {
            self.tell_share();
        }
        lands
    }

    /// Returns the message of `channel`, to read into.
    pub(super) fn landing(&mut self, channel: usize) -> Option<&mut MessageBuffer> {
        self.channels
            .get_mut(channel)
            .filter(|unfinished| unfinished.active)
            .map(|unfinished| &mut unfinished.message)
    }

    /// Appends the part of a fragment that was read elsewhere.
    pub(super) fn append_landed(&mut self, channel: usize, part: &[u8]) {
        if let Some(message) = self.landing(channel) {
            message.append(part);
            self.total_bytes += part.len();
        }
    }

    /// Counts bytes that were read to their place.
    pub(super) fn landed(&mut self, channel: usize, count: usize) {
        if let Some(message) = self.landing(channel) {
            message.advance(count);
            self.total_bytes += count;
        }
    }

    /// Completes the message of `channel`, whose last piece is in its place.
    pub(super) fn complete(&mut self, channel: usize) -> ZSlice {
        self.finish(channel)
    }
}

#[cfg(test)]
mod tests;
