// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoding of received batches, and delivery of each network message in place.
//!
//! Cost on the data path, per message: one decode, one call of [`Deliver::push`]; no allocation, no copy. Messages that
//! begin like the one before are compared with it instead and delivered by [`Deliver::run`]. Per frame: one sequence
//! check. Per message in fragments: one copy of its bytes and, in the long run, the allocation of a reference count.

mod bare;
mod held;
mod landing;
mod shared;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::ZSlice;
use zonda_codec::{
    DecodeError, Fragment, FrameHeader, NetworkMessage, NextSn, Priority, Push, PushRun, Reader,
    Reliability, TransportMessage,
};

use super::arrived::{Arrived, PRIORITIES, Received};
use super::{CHANNELS, Defragmenter, Piece, Reassembly, ReassemblyLimits, Sequence};
use crate::ledger::Share;
use crate::protocol::parameters::{Established, LEASE_MAX};
use crate::protocol::{compression::Corrupt, options::Framing, shared::SharedLink};

pub use held::HELD_BYTES_MAX;
pub use landing::ReadBuffer;

/// Mask of the message id in the low five bits of the first byte.
const ID_BITS: u8 = 0x1f;
const PUSH_ID: u8 = 0x1d;

/// Maximum number of messages of a run that are delivered at once. The handler may hold a lock for that long: some
/// microseconds, as they come from one batch.
const RUN_MAX: usize = 256;

/// Longest time for which a peer that has begun a message may send only keep-alives, unless configured.
pub const UNFINISHED_MAX: Duration = Duration::from_secs(5);

/// Handler of received network messages, in the order of arrival, on the receiving task.
pub trait Deliver {
    /// Delivers a data message. `raw_body` is its PUT or DEL from the header byte to the payload's end.
    fn push(&mut self, push: &Push<'_>, raw_body: &[u8], context: &Context<'_>);

    /// Delivers data messages that follow `push`, which was given to [`Deliver::push`] just before, and differ from it
    /// in payload and time only. Messages left in `run` afterwards are delivered by the other methods.
    #[inline]
    fn run<'a>(&mut self, push: &Push<'a>, run: &mut PushRun<'a>, context: &Context<'_>) {
        let mut push = *push;
        for again in run {
            again.write_to(&mut push);
            self.push(&push, again.raw_body, context);
        }
    }

    /// Delivers any other message; never [`NetworkMessage::Push`].
    fn message(&mut self, message: NetworkMessage<'_>, context: &Context<'_>);

    /// Returns true once enough was done for now: the rest of the batch then waits until [`Receiver::resume_batch`].
    /// The receiver calls this after each message, so it must cost next to nothing.
    #[inline]
    fn wants_pause(&self) -> bool {
        false
    }

    /// Returns the time that the last message may wait, if it needs a declaration that is still on its way: the
    /// receiver delivers it again then, and until then no message of its priority. Returned once, and only where the
    /// handler [wants a pause](Deliver::wants_pause) as well, which ends with this call.
    fn take_early(&mut self) -> Option<Duration> {
        None
    }

    /// Notes if the next messages have waited as long as they may: the handler must not return them as early then.
    fn wait_no_more(&mut self, _is_over: bool) {}
}

/// Context of a received message.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Block that the message borrows from; keeping a share of it keeps the message's bytes.
    pub block: &'a ZSlice,
    /// Reliability of the channel on which it arrived.
    pub reliability: Reliability,
    /// Priority of the channel on which it arrived.
    pub priority: Priority,
    /// Encoded bytes of the whole message; empty for pushes, whose body is a separate argument.
    pub raw: &'a [u8],
}

/// Progress with a batch, and the state of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The batch was read as a whole, and the link stays open.
    Open,
    /// The handler [wants a pause](Deliver::wants_pause). The next call must be [`Receiver::resume_batch`] with the
    /// same batch.
    Paused(Pause),
    /// The peer has closed the link; the rest of the batch was not read.
    Closed {
        /// Close reason on the wire.
        reason: u8,
    },
}

/// Resume point in a batch after a pause: within a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Bytes of the batch that are processed.
    at: usize,
    reliability: Reliability,
    priority: Priority,
}

/// Violation of the protocol by the peer. The link is dropped at once, without a Close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerMisbehaved {
    /// A message had to start at bytes that are no message.
    #[error("undecodable message at byte {offset} of a batch of {length}: {source}")]
    Undecodable {
        /// The offset of the message in the batch.
        offset: usize,
        /// The length of the batch.
        length: usize,
        /// The fault in it.
        source: DecodeError,
    },
    /// A batch larger than agreed.
    #[error("batch of {length} bytes exceeds the agreed {max}")]
    BatchTooLarge {
        /// Length of the batch, without the prefix.
        length: usize,
        /// The batch size agreed.
        max: u16,
    },
    /// A sequence number wider than agreed.
    #[error("sequence number {sn} exceeds the agreed maximum {mask}")]
    SequenceNumber {
        /// The number received.
        sn: u32,
        /// The largest one agreed.
        mask: u32,
    },
    /// Frames that may have contained declarations were lost with one of several links.
    #[error(
        "{count} frames with declarations were lost with a link: the connection has to be opened again"
    )]
    DeclarationsLost {
        /// Number of lost frames.
        count: u32,
    },
    /// A frame or fragment on a link of bare messages.
    #[error("frame at byte {offset} of what must be a bare message")]
    Framed {
        /// Offset of the frame or fragment.
        offset: usize,
    },
    /// A compressed batch that cannot be unpacked.
    #[error(transparent)]
    Compression(#[from] Corrupt),
    /// A frame of another priority than `Data` although priorities are not in use.
    #[error("frame of priority {priority:?} on a link without priorities")]
    Priority {
        /// The priority received.
        priority: Priority,
    },
}

/// Receiving half of an open link.
#[derive(Debug)]
pub struct Receiver {
    batch_size: u16,
    framing: Framing,
    /// Set if several links feed the receiver.
    has_links: bool,
    sn_mask: u32,
    qos: bool,
    sequences: [Sequence; CHANNELS],
    defragmenter: Defragmenter,
    landing: Option<landing::Landing>,
    /// Channel of the last batch, if that was a long fragment and more follow.
    unfinished: Option<(Priority, Reliability)>,
    /// Messages that wait for declarations. Boxed, as few connections have any.
    held: Option<Box<held::Held>>,
    /// Set if payloads may arrive in shared memory.
    shared: Option<SharedLink>,
    message_size_max: usize,
    counters: Received,
    idle: Idle,
}

/// Detector of peers that do not continue the messages that they have begun.
#[derive(Debug)]
struct Idle {
    /// Time within which a peer that is alive has to continue.
    max: Duration,
    /// Number of keep-alives since any other message.
    keep_alives: u32,
    /// Time at which the first of these keep-alives was seen.
    since: Option<Instant>,
}

/// Reason why a connection cannot continue although the peer broke no rule of the protocol: a message would be lost
/// unnoticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CannotContinue {
    /// There is no memory left for a message that the peer has begun.
    NoMemory,
    /// The peer has begun a message and does not continue it, although it is alive.
    Unfinished(Duration),
}

/// Number of keep-alives in a row that show that a peer is alive and does not continue its message.
const KEEP_ALIVES_MIN: u32 = 3;

impl Receiver {
    /// Creates a receiver for an established connection. Fragmented messages above `message_size_max` bytes are
    /// discarded, and all unfinished ones together stay below twice that.
    pub fn new(established: &Established, message_size_max: usize) -> Self {
        let sequence = Sequence::new(established.initial_sn_rx, established.sn_mask);
        let limits = ReassemblyLimits::for_messages(message_size_max);
        Receiver {
            batch_size: established.batch_size,
            framing: established.options.framing(),
            has_links: established.options.multilink().is_some(),
            sn_mask: established.sn_mask,
            qos: established.qos,
            sequences: [sequence; CHANNELS],
            defragmenter: Defragmenter::new(established.patch, limits),
            landing: None,
            unfinished: None,
            held: None,
            shared: established.options.shared.clone(),
            message_size_max,
            counters: Received::default(),
            idle: Idle {
                max: UNFINISHED_MAX,
                keep_alives: 0,
                since: None,
            },
        }
    }

    /// Returns the receiver with its memory counted in `share`, and with `total_bytes_max` for all unfinished messages
    /// together. A peer with an unfinished message that sends only keep-alives for `idle_max` is
    /// [hopeless](Receiver::hopeless). Default: twice the largest message, and [`UNFINISHED_MAX`].
    #[must_use]
    pub fn within(mut self, share: Arc<Share>, total_bytes_max: usize, idle_max: Duration) -> Self {
        self.defragmenter = self.defragmenter.within(share, total_bytes_max);
        self.idle.max = idle_max;
        self
    }

    /// Returns the receiver with separate first numbers for the channels of each priority, as a member of a group
    /// announces them.
    #[must_use]
    pub fn starting_at(mut self, next: impl Fn(Priority) -> NextSn) -> Self {
        for priority in Priority::ALL {
            let NextSn {
                reliable,
                best_effort,
            } = next(priority);
            let first = |sn| Sequence::new(sn, self.sn_mask);
            self.sequences[channel(priority, Reliability::Reliable)] = first(reliable);
            self.sequences[channel(priority, Reliability::BestEffort)] = first(best_effort);
        }
        self
    }

    /// Returns the number after the last one that was accepted on the reliable channel of a priority.
    pub(crate) fn next_sn(&self, priority: Priority) -> u32 {
        let last = self.sequences[channel(priority, Reliability::Reliable)].last();
        last.wrapping_add(1) & self.sn_mask
    }

    /// Returns the reason why the connection cannot continue, if there is one. The caller checks it after each read.
    #[inline]
    pub fn hopeless(&mut self, now: impl FnOnce() -> Instant) -> Option<CannotContinue> {
        if self.defragmenter.buffered_bytes() == 0 && !self.defragmenter.was_refused() {
            return None;
        }
        self.look_at_unfinished(now())
    }

    /// Returns true if the peer has begun a message whose bytes are kept.
    #[inline]
    pub fn is_unfinished(&self) -> bool {
        self.defragmenter.buffered_bytes() > 0 || self.landing.is_some()
    }

    /// Returns the time by which a peer that has begun a message, and is silent since `since`, has to send more.
    pub fn silent_by(&self, since: Instant) -> Instant {
        since
            .checked_add(self.idle.max)
            .unwrap_or(since + LEASE_MAX)
    }

    /// Returns the reason for giving up a peer that was silent until [`Receiver::silent_by`], and counts it.
    pub fn give_up_silent(&self) -> CannotContinue {
        if let Some(share) = self.defragmenter.share() {
            share.ledger().note_given_up(1);
        }
        CannotContinue::Unfinished(self.idle.max)
    }

    #[cold]
    fn look_at_unfinished(&mut self, now: Instant) -> Option<CannotContinue> {
        if self.defragmenter.was_refused() {
            return Some(CannotContinue::NoMemory);
        }
        if self.idle.keep_alives == 0 {
            self.idle.since = None;
            return None;
        }
        let since = *self.idle.since.get_or_insert(now);
        let idle = now.saturating_duration_since(since);
        if self.idle.keep_alives < KEEP_ALIVES_MIN || idle < self.idle.max {
            return None;
        }
        Some(self.give_up_silent())
    }

    /// Returns the framing of the messages on this link.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Returns the counts since the link opened.
    pub fn received(&self) -> Received {
        Received {
            messages: self.counters.messages_by_priority.iter().sum(),
            fragments_discarded: self.defragmenter.fragments_discarded(),
            messages_discarded: self.defragmenter.messages_discarded(),
            messages_too_large: self.defragmenter.messages_too_large(),
            ..self.counters
        }
    }

    /// Returns the counts of what has arrived since the link opened.
    #[inline]
    pub fn arrived(&self) -> Arrived {
        Arrived {
            bytes: self.counters.bytes,
            transport_messages: self.counters.transport_messages,
            messages: self.counters.messages_by_priority,
        }
    }

    /// Counts bytes that were read from the link.
    pub fn note_bytes(&mut self, count: usize) {
        self.counters.bytes += count as u64;
    }

    /// Counts delivered messages of a priority.
    #[inline]
    fn note_messages(&mut self, priority: Priority, count: u64) {
        self.counters.messages_by_priority[priority as usize % PRIORITIES] += count;
    }

    /// Returns a sum of the discarded items since the link opened: it grows whenever a count of them does.
    pub fn thrown_away(&self) -> u64 {
        let counted = &self.counters;
        let whole = self.defragmenter.messages_discarded() + counted.messages_undecodable;
        let fragments = self.defragmenter.fragments_discarded() + counted.fragments_dropped;
        whole + fragments + counted.frames_dropped
    }

    /// Returns the defragmenter, for its counts.
    pub fn defragmenter(&self) -> &Defragmenter {
        &self.defragmenter
    }

    /// Returns the [defragmenter](Receiver::defragmenter), for releasing memory.
    pub fn defragmenter_mut(&mut self) -> &mut Defragmenter {
        &mut self.defragmenter
    }

    /// Processes one batch, without its length prefix, and delivers its messages to `deliver`. `block` is the buffer
    /// that `batch` lies in.
    ///
    /// # Errors
    /// The peer broke the protocol; what came before in the batch has been delivered.
    #[inline]
    pub fn handle_batch<D: Deliver>(
        &mut self,
        batch: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        if self.held.is_some() {
            return self.handle_beside_held(batch, block, deliver);
        }
        let flow = self.read_batch(batch, block, deliver)?;
        match self.held {
            None => Ok(flow),
            Some(_) => self.after_batch(flow, batch, deliver),
        }
    }

    #[inline]
    fn read_batch<D: Deliver>(
        &mut self,
        batch: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        self.counters.batches += 1;
        self.unfinished = None;
        if batch.len() > usize::from(self.batch_size) {
            return Err(PeerMisbehaved::BatchTooLarge {
                length: batch.len(),
                max: self.batch_size,
            });
        }
        let mut pass = DecodePass {
            receiver: self,
            batch_bytes: batch.len(),
            block,
            deliver,
        };
        pass.batch(&mut Reader::new(batch))
    }

    /// Resumes a batch where a pause interrupted it; all else as for [`Receiver::handle_batch`].
    ///
    /// # Errors
    /// The peer broke the protocol; what came before in the batch has been delivered.
    #[cold]
    pub fn resume_batch<D: Deliver>(
        &mut self,
        pause: Pause,
        batch: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        let flow = self.read_rest(pause, batch, block, deliver)?;
        match self.held {
            None => Ok(flow),
            Some(_) => self.after_batch(flow, batch, deliver),
        }
    }

    fn read_rest<D: Deliver>(
        &mut self,
        pause: Pause,
        batch: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        let mut pass = DecodePass {
            receiver: self,
            batch_bytes: batch.len(),
            block,
            deliver,
        };
        let mut r = Reader::new(batch);
        pass.decoded(0, r.take(pause.at))?;
        match pass.messages(pause.priority, pause.reliability, &mut r)? {
            Some(pause) => Ok(Flow::Paused(pause)),
            None => pass.batch(&mut r),
        }
    }

    /// Counts skipped numbers; on a connection of several links they are messages that a lost link has taken along.
    /// Without a declaration the two sides would have different views, so the connection is restarted.
    #[cold]
    fn note_skipped(
        &mut self,
        priority: Priority,
        reliability: Reliability,
        count: u32,
    ) -> Result<(), PeerMisbehaved> {
        self.counters.sequence_numbers_skipped += u64::from(count);
        let declares = priority == Priority::Control || !self.qos;
        match self.has_links && declares && reliability == Reliability::Reliable {
            true => Err(PeerMisbehaved::DeclarationsLost { count }),
            false => Ok(()),
        }
    }

    /// Applies the sequence rule: `None` if the frame or fragment is to be dropped, else its channel and whether it
    /// directly follows the one before.
    #[inline]
    fn admit(
        &mut self,
        priority: Priority,
        reliability: Reliability,
        sn: u32,
    ) -> Result<Option<(usize, bool)>, PeerMisbehaved> {
        if !self.qos && priority != Priority::Data {
            return Err(PeerMisbehaved::Priority { priority });
        }
        if sn > self.sn_mask {
            return Err(PeerMisbehaved::SequenceNumber {
                sn,
                mask: self.sn_mask,
            });
        }
        let channel = channel(priority, reliability);
        let skipped = self.sequences[channel].accept(sn);
        if let Some(count @ 1..) = skipped {
            self.note_skipped(priority, reliability, count)?;
        }
        Ok(skipped.map(|skipped| (channel, skipped == 0)))
    }
}

/// Returns the index of a channel, below [`CHANNELS`].
#[inline]
fn channel(priority: Priority, reliability: Reliability) -> usize {
    let reliable = matches!(reliability, Reliability::Reliable);
    ((priority as usize) << 1 | usize::from(reliable)) % CHANNELS
}

/// State of the decoding of one batch.
struct DecodePass<'p, D> {
    receiver: &'p mut Receiver,
    batch_bytes: usize,
    block: &'p ZSlice,
    deliver: &'p mut D,
}

impl<D: Deliver> DecodePass<'_, D> {
    /// Delivers the rest of the batch, from between two of its transport messages.
    #[inline]
    fn batch(&mut self, r: &mut Reader<'_>) -> Result<Flow, PeerMisbehaved> {
        while !r.is_empty() {
            // Decode the next transport message.
            let offset = r.position();
            let message = self.decoded(offset, TransportMessage::decode(r))?;
            self.receiver.counters.transport_messages += 1;
            let pause = match message {
                TransportMessage::Frame(header) => {
                    self.receiver.idle.keep_alives = 0;
                    self.frame(&header, r)?
                }
                TransportMessage::Fragment(fragment) => {
                    self.receiver.idle.keep_alives = 0;
                    let (at, priority, reliability) =
                        (r.position(), fragment.priority, fragment.reliability);
                    match self.fragment(&fragment)? {
                        false => self.pause((priority, reliability), at, r),
                        true => Some(Pause {
                            at,
                            reliability,
                            priority,
                        }),
                    }
                }
                TransportMessage::Close(close) => {
                    return Ok(Flow::Closed {
                        reason: close.reason,
                    });
                }
                TransportMessage::KeepAlive => {
                    self.receiver.idle.keep_alives += 1;
                    None
                }
                _ => {
                    self.receiver.counters.ignored += 1;
                    None
                }
            };
            // The caller resumes the batch here after a pause.
            if let Some(pause) = pause {
                return Ok(Flow::Paused(pause));
            }
        }
        Ok(Flow::Open)
    }

    /// Returns the resume point if the handler wants a pause, after the message that begins at `offset`.
    #[inline]
    fn pause(
        &mut self,
        channel: (Priority, Reliability),
        offset: usize,
        r: &Reader<'_>,
    ) -> Option<Pause> {
        let (priority, reliability) = channel;
        self.deliver.wants_pause().then(|| Pause {
            at: self.pause_at(offset, r.position()),
            reliability,
            priority,
        })
    }

    /// Delivers the messages of a frame, whose header was just read from `r`.
    #[inline]
    fn frame(
        &mut self,
        header: &FrameHeader,
        r: &mut Reader<'_>,
    ) -> Result<Option<Pause>, PeerMisbehaved> {
        let FrameHeader {
            priority,
            reliability,
            sn,
            ..
        } = *header;
        let Some((channel, _)) = self.receiver.admit(priority, reliability, sn)? else {
            self.receiver.counters.frames_dropped += 1;
            self.skip(r)?;
            return Ok(None);
        };
        self.receiver.defragmenter.interrupt(channel);
        self.messages(priority, reliability, r)
    }

    /// Delivers the messages of a frame that are left in `r`.
    #[inline]
    fn messages(
        &mut self,
        priority: Priority,
        reliability: Reliability,
        r: &mut Reader<'_>,
    ) -> Result<Option<Pause>, PeerMisbehaved> {
        let context = Context {
            block: self.block,
            reliability,
            priority,
            raw: &[],
        };
        let (mut messages, mut pause) = (0, None);
        while let Some(byte) = r.peek().filter(|byte| NetworkMessage::starts(*byte)) {
            // Deliver a push, and all that follow with the same head as a run.
            let offset = r.position();
            if byte & ID_BITS == PUSH_ID {
                let start = *r;
                let (push, raw) = match Push::decode_with_raw(r) {
                    Ok(decoded) => decoded,
                    Err(error) => match self.set_apart(error, start, r, &context)? {
                        None => continue,
                        stop => {
                            pause = stop;
                            break;
                        }
                    },
                };
                self.deliver.push(&push, raw, &context);
                if let Some(run) = PushRun::following(start, &push, raw, *r) {
                    messages += self.run(&push, run, r, &context);
                }
            } else {
                // Deliver any other message.
                let start = *r;
                let message = match NetworkMessage::decode(r) {
                    Ok(message) => message,
                    Err(error) => match self.set_apart(error, start, r, &context)? {
                        None => continue,
                        stop => {
                            pause = stop;
                            break;
                        }
                    },
                };
                let raw = r.since(start);
                self.deliver.message(message, &Context { raw, ..context });
            }
            // A message that arrived too early is delivered again later and not counted now.
            messages += 1;
            pause = self.pause((priority, reliability), offset, r);
            if let Some(pause) = &pause {
                messages -= u64::from(pause.at == offset);
                break;
            }
        }
        self.receiver.note_messages(priority, messages);
        Ok(pause)
    }

    /// Delivers the messages of `run` behind `r`, as far as possible without a pause; returns how many.
    #[inline(never)]
    fn run<'a>(
        &mut self,
        push: &Push<'a>,
        mut run: PushRun<'a>,
        r: &mut Reader<'a>,
        context: &Context<'_>,
    ) -> u64 {
        let mut messages = 0;
        while !self.deliver.wants_pause() {
            run.limit(RUN_MAX);
            self.deliver.run(push, &mut run, context);
            let done = RUN_MAX - run.left();
            messages += done as u64;
            if done < RUN_MAX {
                break;
            }
        }
        *r = run.reader();
        messages
    }

    /// Skips the messages of a dropped frame; another frame may follow in the batch.
    #[cold]
    fn skip(&mut self, r: &mut Reader<'_>) -> Result<(), PeerMisbehaved> {
        while r.peek().is_some_and(NetworkMessage::starts) {
            let offset = r.position();
            if let Err(error) = NetworkMessage::decode(r) {
                self.unusable(offset, error)?;
            }
        }
        Ok(())
    }

    /// Processes a fragment. True if it ends a message that came too early.
    fn fragment(&mut self, fragment: &Fragment<'_>) -> Result<bool, PeerMisbehaved> {
        let Fragment {
            priority,
            reliability,
            sn,
            ..
        } = *fragment;
        // Apply the sequence rule.
        let Some((channel, follows)) = self.receiver.admit(priority, reliability, sn)? else {
            self.receiver.counters.fragments_dropped += 1;
            return Ok(false);
        };
        // Add the fragment to its message.
        let piece = Piece {
            follows,
            more: fragment.more,
            first: fragment.first,
            drop: fragment.drop,
            payload: fragment.payload,
        };
        if piece.more && piece.payload.len() >= landing::LONG_BYTES_MIN {
            self.receiver.unfinished = Some((priority, reliability));
        }
        let complete;
        let (bytes, block) = match self.receiver.defragmenter.push(channel, piece) {
            Reassembly::Pending => return Ok(false),
            Reassembly::Single(payload) => (payload, self.block),
            Reassembly::Complete(slice) => {
                complete = slice;
                (complete.as_slice(), &complete)
            }
        };
        // Deliver the message, if it is complete.
        let context = Context {
            block,
            reliability,
            priority,
            raw: &[],
        };
        Ok((self.receiver).hand_on_whole(bytes, &context, self.deliver))
    }

    /// Handles an undecodable message. A message whose payload lies in the sender's shared memory is for a node of that
    /// machine, and the receiver skips it; any other one ends the link.
    #[cold]
    fn unusable(&mut self, offset: usize, source: DecodeError) -> Result<(), PeerMisbehaved> {
        if let DecodeError::SharedMemory { .. } = source {
            self.receiver.note_shared_memory();
            return Ok(());
        }
        self.decoded(offset, Err(source))
    }

    #[inline]
    fn decoded<T>(
        &self,
        offset: usize,
        result: Result<T, DecodeError>,
    ) -> Result<T, PeerMisbehaved> {
        let length = self.batch_bytes;
        result.map_err(|source| PeerMisbehaved::Undecodable {
            offset,
            length,
            source,
        })
    }
}

/// Decodes exactly one message and delivers it; `Ok(false)` if bytes are left over.
fn deliver_one<D: Deliver>(
    bytes: &[u8],
    context: &Context<'_>,
    deliver: &mut D,
) -> Result<bool, DecodeError> {
    let mut r = Reader::new(bytes);
    if r.peek().is_some_and(|byte| byte & ID_BITS == PUSH_ID) {
        let (push, raw) = Push::decode_with_raw(&mut r)?;
        if r.is_empty() {
            deliver.push(&push, raw, context);
        }
    } else {
        let message = NetworkMessage::decode(&mut r)?;
        if r.is_empty() {
            let raw = bytes;
            deliver.message(message, &Context { raw, ..*context });
        }
    }
    Ok(r.is_empty())
}
