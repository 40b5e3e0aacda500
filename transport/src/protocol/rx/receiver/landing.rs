// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fragments that are read directly to their place in the message, which saves a copy.
//!
//! ```text
//!  message so far            | rest of the fragment | behind: the next batch's first bytes
//! +--------------------------+----------------------+------------------------------------+
//!                            ^ the socket writes from here on
//! ```
//!
//! The owner of the socket finds the start of a fragment that has not arrived as a whole and asks
//! to [`land`](Receiver::land) it. Then it reads into the [lent](Receiver::lend) memory, gives that
//! back and has it [processed](Receiver::landed), until no memory is lent any more. A read extends
//! a little beyond the fragment, so that the header of the next one arrives with it; the receiver
//! removes the header by moving the few bytes behind it.

use zonda_codec::{Fragment, Priority, Reader, Reliability, TransportMessage};

use super::{Context, Deliver, ID_BITS, Piece, Receiver, channel};

/// Low bits of a fragment's first byte.
const FRAGMENT_ID: u8 = 0x06;

/// Bytes to read beyond a fragment: its successor's header, and often all of a short one.
const BEHIND_BYTES: usize = 1024;

/// Minimum length of a fragment that is worth a read of its own.
pub(super) const LONG_BYTES_MIN: usize = 16 * 1024;

/// Minimum received bytes of a message whose fragments are read in place: a smaller one may end
/// soon, and reads of several fragments at a time cost less than the copies that they need.
const GROWN_BYTES_MIN: usize = 128 * 1024;

/// Bytes of a batch's length prefix.
const PREFIX_BYTES: usize = 2;

/// Number of bytes of a batch that contain a fragment's header, unless the header is longer than
/// any that this receiver reads early.
const HEADER_BYTES_MAX: usize = 64;

/// Fragment that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landing {
    channel: usize,
    priority: Priority,
    reliability: Reliability,
    /// Set if more fragments of the message follow.
    more: bool,
    /// Bytes of the fragment that have not arrived.
    missing: usize,
    /// Received bytes behind the fragment.
    behind: usize,
}

/// Memory to read into.
#[derive(Debug)]
pub struct ReadBuffer {
    /// The whole buffer; readable, with unspecified content behind `filled`.
    pub bytes: Vec<u8>,
    /// Offset to write at.
    pub filled: usize,
    /// Number of bytes that may be written.
    pub spare: usize,
}

/// Received start of a batch that is a fragment.
struct Start<'a> {
    fragment: Fragment<'a>,
    /// Bytes in front of the piece.
    header: usize,
    /// Bytes of the whole piece.
    piece: usize,
}

/// Kind of a batch, determined by its first bytes.
enum BatchKind<'a> {
    Fragment(Start<'a>),
    Other,
    TooShort,
}

/// Content of the read buffer after a complete fragment.
enum AfterFragment {
    /// The next fragment; its missing bytes are now read to their place.
    Lands,
    /// Fewer bytes than the decision needs.
    Unknown,
    /// Messages that are no fragment.
    Other,
}

impl Receiver {
    /// Takes `bytes`, the received part of a batch with its prefix, and returns true, in two cases:
    /// they begin a fragment whose missing bytes can be read to their place, or they are too few to
    /// decide while such a fragment is expected. Otherwise the receiver is unchanged, and the caller
    /// handles the batch once it is complete.
    pub fn land(&mut self, bytes: &[u8]) -> bool {
        if self.landing.is_some() || self.held.is_some() {
            return false;
        }
        let start = match self.glance(bytes) {
            BatchKind::Fragment(start) => start,
            BatchKind::TooShort => return self.expect(bytes),
            BatchKind::Other => return false,
        };
        let here = start.fragment.payload;
        if start.piece < LONG_BYTES_MIN || !self.has_grown(start.channel()) {
            return false;
        }
        let Some(mut landing) = self.begin(&start) else {
            return false;
        };
        self.defragmenter.append_landed(landing.channel, here);
        landing.missing -= here.len();
        self.landing = Some(landing);
        true
    }

    /// Returns true if so much of the message on `channel` has arrived that much more may be
    /// expected.
    fn has_grown(&mut self, channel: usize) -> bool {
        self.defragmenter
            .landing(channel)
            .is_some_and(|message| message.filled() >= GROWN_BYTES_MIN)
    }

    /// Prepares to read the successor of a long fragment in place, from its header on.
    fn expect(&mut self, start: &[u8]) -> bool {
        // Continue only a long message whose last fragment announced more.
        let Some((priority, reliability)) = self.unfinished.take() else {
            return false;
        };
        let channel = channel(priority, reliability);
        if !self.has_grown(channel) {
            return false;
        }
        let Some(message) = self.defragmenter.landing(channel) else {
            return false;
        };
        if !message.prepare(BEHIND_BYTES) {
            return false;
        }
        // Read the header of the next fragment behind the message.
        message.put_behind(start);
        self.landing = Some(Landing {
            channel,
            priority,
            reliability,
            more: true,
            missing: 0,
            behind: start.len(),
        });
        true
    }

    /// Returns true while a fragment is read to its place.
    pub fn is_landing(&self) -> bool {
        self.landing.is_some()
    }

    /// Returns the memory to read into, while a fragment is being read.
    pub fn lend(&mut self) -> Option<ReadBuffer> {
        let landing = self.landing?;
        let message = self.defragmenter.landing(landing.channel)?;
        Some(ReadBuffer {
            filled: message.filled() + landing.behind,
            spare: landing.missing + BEHIND_BYTES - landing.behind,
            bytes: message.lend(),
        })
    }

    /// Takes back the lent memory, with `count` bytes written.
    pub fn give_back(&mut self, bytes: Vec<u8>, count: usize) {
        let Some(landing) = &mut self.landing else {
            return;
        };
        if let Some(message) = self.defragmenter.landing(landing.channel) {
            message.take_back(bytes);
        }
        let landed = count.min(landing.missing);
        landing.missing -= landed;
        landing.behind += count - landed;
        self.defragmenter.landed(landing.channel, landed);
    }

    /// Processes the returned memory: delivers the message if it is complete, after the bytes that
    /// do not belong to it went to `spill`, as the start of the next batch. [`Receiver::lend`]
    /// returns memory if more is to be read.
    pub fn landed<D: Deliver>(&mut self, deliver: &mut D, spill: impl FnOnce(&[u8])) {
        while let Some(landing) = self.landing {
            if landing.missing > 0 {
                return;
            }
            if landing.more {
                match self.follow(landing) {
                    AfterFragment::Lands => continue,
                    AfterFragment::Unknown => return,
                    AfterFragment::Other => {}
                }
            }
            self.landing = None;
            if let Some(message) = self.defragmenter.landing(landing.channel) {
                spill(message.behind(landing.behind));
            }
            if !landing.more {
                self.hand_on(landing, deliver);
            }
            return;
        }
    }

    /// Continues with the bytes behind the fragment that has landed, if they begin its successor.
    fn follow(&mut self, landing: Landing) -> AfterFragment {
        let Some(message) = self.defragmenter.landing(landing.channel) else {
            return AfterFragment::Other;
        };
        // The start is copied, as the message is about to change.
        let mut start = [0; HEADER_BYTES_MAX];
        let behind = message.behind(landing.behind);
        let len = behind.len().min(start.len());
        start[..len].copy_from_slice(&behind[..len]);
        let start = match self.glance(&start[..len]) {
            BatchKind::TooShort => return AfterFragment::Unknown,
            BatchKind::Fragment(start) if start.channel() == landing.channel => start,
            BatchKind::Fragment(_) | BatchKind::Other => return AfterFragment::Other,
        };
        let Some(mut next) = self.begin(&start) else {
            return AfterFragment::Other;
        };
        if let Some(message) = self.defragmenter.landing(landing.channel) {
            message.close_gap(start.header, landing.behind);
        }
        let left = landing.behind - start.header;
        let here = left.min(next.missing);
        next.missing -= here;
        next.behind = left - here;
        self.defragmenter.landed(landing.channel, here);
        self.landing = Some(next);
        AfterFragment::Lands
    }

    /// Returns the kind of batch that begins with `bytes`, from its prefix on.
    fn glance<'a>(&self, bytes: &'a [u8]) -> BatchKind<'a> {
        // Read the length and the first byte of the batch.
        let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX_BYTES>() else {
            return BatchKind::TooShort;
        };
        let length = usize::from(u16::from_le_bytes(*prefix));
        let rest = &rest[..rest.len().min(length)];
        match rest.first() {
            Some(byte) if byte & ID_BITS == FRAGMENT_ID => {}
            None if length > 0 => return BatchKind::TooShort,
            _ => return BatchKind::Other,
        }
        if length > usize::from(self.batch_size) {
            return BatchKind::Other;
        }
        // Decode the header; it may not have arrived as a whole.
        match TransportMessage::decode(&mut Reader::new(rest)) {
            Ok(TransportMessage::Fragment(fragment)) => {
                let header = rest.len() - fragment.payload.len();
                BatchKind::Fragment(Start {
                    fragment,
                    header: PREFIX_BYTES + header,
                    piece: length - header,
                })
            }
            Err(_) if bytes.len() < HEADER_BYTES_MAX.min(PREFIX_BYTES + length) => {
                BatchKind::TooShort
            }
            _ => BatchKind::Other,
        }
    }

    /// Admits a fragment all of whose bytes are still missing; `None`, without a change, unless it
    /// is the next one and there is memory for it.
    fn begin(&mut self, start: &Start<'_>) -> Option<Landing> {
        let Fragment {
            priority,
            reliability,
            sn,
            more,
            first,
            drop,
            ..
        } = start.fragment;
        // Check that the fragment is the next one and that there is memory for it.
        let channel = start.channel();
        let due = self.sequences[channel].last().wrapping_add(1) & self.sn_mask;
        let piece = Piece {
            follows: true,
            more,
            first,
            drop,
            payload: &[],
        };
        if sn != due
            || (!self.qos && priority != Priority::Data)
            || !self
                .defragmenter
                .land(channel, &piece, start.piece, BEHIND_BYTES)
        {
            return None;
        }
        // Count the fragment like one that arrived as a whole.
        self.idle.keep_alives = 0;
        self.sequences[channel].accept(sn);
        self.counters.batches += 1;
        self.counters.transport_messages += 1;
        Some(Landing {
            channel,
            priority,
            reliability,
            more,
            missing: start.piece,
            behind: 0,
        })
    }

    fn hand_on<D: Deliver>(&mut self, landing: Landing, deliver: &mut D) {
        let message = self.defragmenter.complete(landing.channel);
        let context = Context {
            block: &message,
            reliability: landing.reliability,
            priority: landing.priority,
            raw: &[],
        };
        if self.hand_on_whole(message.as_slice(), &context, deliver) {
            self.hold_landed(landing.priority, landing.reliability);
        }
    }
}

impl Start<'_> {
    fn channel(&self) -> usize {
        channel(self.fragment.priority, self.fragment.reliability)
    }
}

#[cfg(test)]
mod tests;
