// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queue of one priority: the open batch, the sealed ones behind it, the sequence numbers of both
//! channels.

use std::collections::VecDeque;

use zonda_codec::{
    Encode, EncodeError, Fragment, FrameHeader, NextSn, Priority, Reliability, Writer,
};

use crate::protocol::{options::Framing, shared::SharedLink};

use super::{
    SHARE_BYTES_MIN,
    batch::{Batch, Tail},
    pinned_blocks::PinnedBlocks,
};

/// Minimum and maximum number of buffers that a lane keeps for its next batches; further ones are
/// freed. The maximum covers a full queue: memory that a dense stream allocates anew was returned
/// to the system before, and has to be cleared and faulted in page by page.
const SPARES: std::ops::RangeInclusive<usize> = 2..=16;

/// Maximum bytes of a message outside of any frame, its length prefix included. An idle link needs
/// no larger buffer.
const BARE_BYTES_MAX: usize = 32;

/// Maximum bytes of a fragment's header, without the head in front of it: id, sequence number,
/// three extensions.
const FRAGMENT_HEADER_BYTES_MAX: usize = 10;

/// Parameters of the connection that a lane needs.
#[derive(Debug, Clone, Copy)]
pub struct LaneConfig {
    /// Priority that the lane's frames carry.
    pub priority: Priority,
    /// Maximum bytes of one batch, its length prefix included, as negotiated.
    pub batch_size: u16,
    /// Mask by which sequence numbers wrap.
    pub sn_mask: u32,
    /// First sequence number of both channels.
    pub initial_sn: u32,
    /// Limit of queued bytes from which on the lane is full; one message may exceed it.
    pub queue_bytes_max: usize,
    /// Framing of the messages.
    pub framing: Framing,
    /// Length from which on payloads are not copied into a batch: [`SHARE_BYTES_MIN`], or less where they may leave in
    /// [shared memory](Lane::sharing).
    pub share_bytes_min: usize,
}

/// Message to send: a head that can encode itself, and the payload bytes that follow the head.
#[derive(Debug)]
pub struct Outgoing<'a, E: ?Sized> {
    /// Reliability, which selects one of the lane's two channels.
    pub reliability: Reliability,
    /// Encoder of everything in front of the payload.
    pub head: &'a E,
    /// Payload, appended to the head as it is.
    pub payload: Tail<'a>,
}

/// Effect of a push on the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pushed {
    /// The message waits in the open batch, which still has room.
    Open,
    /// The push sealed at least one batch, which waits to be written.
    Sealed,
    /// The push sealed a batch, and so much is queued now that it is worth a write.
    Heavy,
}

/// Sealed bytes that are worth a write: writing more at a time costs no less per byte.
const HEAVY_BYTES: usize = 192 * 1024;

/// Queue of one priority. Single owner, no locks, no clock.
#[derive(Debug)]
pub struct Lane {
    config: LaneConfig,
    open: Option<Batch>,
    /// Reliability of the frame that is being filled in `open`.
    frame: Option<Reliability>,
    sealed: VecDeque<Batch>,
    sealed_bytes: usize,
    /// Sealed bytes that are pieces of large messages.
    fragment_bytes: usize,
    /// Bytes of the sealed batches' buffers, used or not; without shared payloads.
    own_bytes: usize,
    /// Foreign memory that queued payloads keep.
    pub(super) pins: PinnedBlocks,
    /// Set if payloads may leave in shared memory.
    pub(super) shared: Option<SharedLink>,
    spares: Vec<Box<[u8]>>,
    next_sn: [u32; 2],
    /// Number of messages that were queued so far.
    accepted: u64,
    /// Number of batches that were taken out so far.
    popped: u64,
    /// Number of popped batches at which a message admitted over the limit has left.
    guest_until: u64,
}

/// Content of a lane when its connection ended.
#[derive(Debug)]
pub struct Released {
    _open: Option<Batch>,
    _sealed: VecDeque<Batch>,
    _spares: Vec<Box<[u8]>>,
}

impl Lane {
    /// Creates an empty lane.
    #[must_use]
    pub fn new(config: LaneConfig) -> Self {
        let first = config.initial_sn & config.sn_mask;
        Self {
            config,
            open: None,
            frame: None,
            sealed: VecDeque::new(),
            sealed_bytes: 0,
            fragment_bytes: 0,
            own_bytes: 0,
            pins: PinnedBlocks::default(),
            shared: None,
            spares: Vec::new(),
            next_sn: [first; 2],
            accepted: 0,
            popped: 0,
            guest_until: 0,
        }
    }

    /// Returns the lane with payloads that leave in shared memory.
    #[must_use]
    pub fn sharing(mut self, shared: Option<SharedLink>) -> Self {
        self.config.share_bytes_min = Lane::share_bytes_min(shared.as_ref());
        self.shared = shared;
        self
    }

    /// Returns the length from which on payloads are not copied into a batch.
    pub(crate) fn share_bytes_min(shared: Option<&SharedLink>) -> usize {
        let shared = shared.map(|link| link.size_min().min(SHARE_BYTES_MIN - 1));
        shared.unwrap_or(SHARE_BYTES_MIN)
    }

    /// Returns the number of messages that were queued so far.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Returns true while a message is queued that was [admitted](Lane::begin_guest) over the
    /// limit.
    #[must_use]
    pub fn has_guest(&self) -> bool {
        self.popped < self.guest_until
    }

    /// Admits the next message although there is no room: until it has left, [`Lane::has_guest`]
    /// returns true.
    pub fn begin_guest(&mut self) {
        self.guest_until = u64::MAX;
    }

    /// Notes that the admitted message, if there is one, is the last in the queue now.
    pub fn end_guest(&mut self) {
        if self.guest_until == u64::MAX {
            let open = usize::from(self.open.is_some());
            self.guest_until = self.popped + (self.sealed.len() + open) as u64;
        }
    }

    /// Returns the bytes that wait to be written.
    #[must_use]
    #[inline]
    pub fn queued_bytes(&self) -> usize {
        self.sealed_bytes + self.open.as_ref().map_or(0, Batch::wire_len)
    }

    /// Returns the bytes that wait to be written, without those of large messages: the source of a
    /// large message sends no other before it is written, so its bytes do not indicate a backlog.
    #[must_use]
    pub fn queued_bytes_small(&self) -> usize {
        self.queued_bytes() - self.fragment_bytes
    }

    /// Returns true while another message may be pushed without exceeding the lane's limit.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        self.sealed_bytes < self.config.queue_bytes_max
    }

    /// Returns [`Lane::has_room`] without counting a fragmented message of `bytes` that is queued
    /// here.
    #[must_use]
    pub fn has_room_beside(&self, bytes: usize) -> bool {
        let headers = bytes / 256;
        self.sealed_bytes.saturating_sub(bytes + headers) < self.config.queue_bytes_max
    }

    /// Returns true once enough has drained to wake the senders that wait for room: half of the
    /// limit, so that one wake-up serves many messages.
    #[must_use]
    pub fn has_drained(&self) -> bool {
        self.sealed_bytes * 2 <= self.config.queue_bytes_max
    }

    /// Returns true if the lane is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sealed.is_empty() && self.open.is_none()
    }

    /// Encodes a message into the open batch, or into as many fragments as it takes.
    ///
    /// A payload below [`SHARE_BYTES_MIN`] is copied once, a larger one that can be shared is not;
    /// the lane does not allocate while it has a spare buffer. The caller checks the limit of the
    /// queue, with [`Lane::has_room`].
    ///
    /// # Errors
    /// [`EncodeError::TooLong`] if the message has no wire form; nothing was queued, no sequence number used.
    #[inline]
    pub fn push<E: Encode + ?Sized>(
        &mut self,
        message: &Outgoing<'_, E>,
    ) -> Result<Pushed, EncodeError> {
        if let Some(open) = &mut self.open {
            let frame = (self.frame != Some(message.reliability)).then_some(&self.next_sn);
            let queue = WaitingBatches {
                pins: &self.pins,
                sealed: &self.sealed,
            };
            if let Ok(shared) = append(open, &self.config, frame, message, queue) {
                return Ok(self.appended(message.reliability, shared));
            }
        }
        self.push_fresh(message)
    }

    /// Appends a message below [`SHARE_BYTES_MIN`] to the open frame, if there is one of this
    /// reliability, with room, in a lane that has room. True if it did; else nothing has changed.
    #[inline(always)]
    pub fn append<H: Encode>(
        &mut self,
        reliability: Reliability,
        head: &H,
        payload: &[u8],
    ) -> bool {
        if !self.has_room() || self.frame != Some(reliability) {
            return false;
        }
        let Some(open) = &mut self.open else {
            return false;
        };
        // [`Lane::extend`] is not used: the compiler does not inline a closure passed to it, which
        // makes a put a tenth slower.
        let mut writer = Writer::new(open.spare());
        let written = head
            .encode(&mut writer)
            .and_then(|()| writer.bytes(payload));
        if written.is_ok() {
            let written = writer.position();
            open.commit(written);
            self.accepted += 1;
        }
        written.is_ok()
    }

    /// Makes `write` copy whole messages of this reliability into the remaining room of the open
    /// batch; `write` returns their number and any other value. `None` if a batch or a frame has to
    /// be begun first, by [`Lane::push`].
    #[inline(always)]
    pub fn extend<T>(
        &mut self,
        reliability: Reliability,
        write: impl FnOnce(&mut Writer<'_>) -> (u64, T),
    ) -> Option<(u64, T)> {
        if self.frame != Some(reliability) {
            return None;
        }
        let open = self.open.as_mut()?;
        let mut writer = Writer::new(open.spare());
        let (count, told) = write(&mut writer);
        let written = writer.position();
        open.commit(written);
        self.accepted += count;
        Some((count, told))
    }

    /// Queues one transport message outside any frame (keep-alive, close).
    pub fn push_bare<E: Encode + ?Sized>(&mut self, message: &E) {
        self.seal_open();
        let buffer = vec![0; BARE_BYTES_MAX].into_boxed_slice();
        let mut batch = Batch::framed(buffer, self.config.framing);
        if self.config.framing.is_bare() {
            return self.push_bare_alone(batch, message);
        }
        let mut writer = Writer::new(batch.spare());
        if message.encode(&mut writer).is_ok() {
            let written = writer.position();
            batch.commit(written);
            self.enqueue(batch);
        }
    }

    /// Frees the memory that is kept for later batches.
    pub fn trim(&mut self) {
        self.spares = Vec::new();
        self.sealed.shrink_to_fit();
    }

    /// Returns the queued batches and the memory kept for later ones; the queued messages still
    /// count as queued. No message may be pushed any more.
    #[must_use = "payloads are to be dropped without a lock"]
    pub fn release(&mut self) -> Released {
        self.sealed_bytes = self.queued_bytes();
        self.frame = None;
        (self.pins, self.own_bytes) = (PinnedBlocks::default(), 0);
        Released {
            _open: self.open.take(),
            _sealed: std::mem::take(&mut self.sealed),
            _spares: std::mem::take(&mut self.spares),
        }
    }

    /// Takes the batch that leaves next: the oldest sealed one, else the open one. `free` gives the
    /// lane a buffer for its next batch in the same visit.
    #[inline(always)]
    pub fn pop(&mut self, free: &mut Vec<Box<[u8]>>) -> Option<Batch> {
        if self.sealed.is_empty() {
            self.seal_open();
        }
        let batch = self.sealed.pop_front()?;
        self.sealed_bytes -= batch.wire_len();
        if batch.is_fragment() {
            self.fragment_bytes -= batch.wire_len();
        }
        self.own_bytes -= batch.capacity();
        if let Some(payload) = batch.tail() {
            self.pins.leave(payload, self.sealed.front());
        }
        if self.spares.len() < self.spares_max()
            && let Some(buffer) = free.pop()
        {
            self.spares.push(buffer);
        }
        self.popped += 1;
        Some(batch)
    }

    /// Puts back the last popped batch, which was not written. Later messages are placed behind it.
    pub fn put_back(&mut self, batch: Batch) {
        self.sealed_bytes += batch.wire_len();
        if batch.is_fragment() {
            self.fragment_bytes += batch.wire_len();
        }
        self.own_bytes += batch.capacity();
        if let Some(payload) = batch.tail() {
            self.pins.enter(payload, self.sealed.front());
        }
        self.popped -= 1;
        self.sealed.push_front(batch);
    }

    /// Returns the effect of a push, together with the bytes that were queued before.
    #[must_use]
    #[inline]
    pub fn weigh(&self, pushed: Pushed) -> Pushed {
        match pushed {
            Pushed::Sealed if self.sealed_bytes >= HEAVY_BYTES => Pushed::Heavy,
            other => other,
        }
    }

    /// Returns the size of this lane's pooled buffers; a buffer of another size is not worth
    /// keeping.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        usize::from(self.config.batch_size)
    }

    #[inline]
    fn appended(&mut self, reliability: Reliability, shared: bool) -> Pushed {
        self.accepted += 1;
        if self.frame != Some(reliability) {
            self.frame = Some(reliability);
            self.advance(reliability);
        }
        if !shared {
            return Pushed::Open;
        }
        self.seal_open();
        Pushed::Sealed
    }

    #[cold]
    fn push_fresh<E: Encode + ?Sized>(
        &mut self,
        message: &Outgoing<'_, E>,
    ) -> Result<Pushed, EncodeError> {
        if self.config.framing.is_bare() {
            return self.push_message(message);
        }
        if message.payload.size() >= self.config.share_bytes_min
            && let Some(pushed) = self.push_shared(message)?
        {
            return Ok(pushed);
        }
        let sealed = self.seal_open();
        // No buffer is taken for a message that cannot fit in any.
        if message.payload.size() >= usize::from(self.config.batch_size) {
            return self.push_fragments(message);
        }
        let mut batch = self.fresh();
        let (frame, queue) = (Some(&self.next_sn), self.queue());
        // A payload that cannot leave in shared memory leaves as on any other link.
        let config = LaneConfig {
            share_bytes_min: SHARE_BYTES_MIN,
            ..self.config
        };
        match append(&mut batch, &config, frame, message, queue) {
            Ok(shared) => {
                self.open = Some(batch);
                let pushed = self.appended(message.reliability, shared);
                Ok(if sealed { Pushed::Sealed } else { pushed })
            }
            Err(failure) => {
                self.keep_spare(batch.into_buffer());
                if failure == EncodeError::NoRoom {
                    self.push_fragments(message)
                } else {
                    Err(failure)
                }
            }
        }
    }

    /// Splits head and payload over as many batches as it takes. Each fragment has its own batch
    /// and the next sequence number; no other message of this lane can come between, because the
    /// lane has one owner.
    fn push_fragments<E: Encode + ?Sized>(
        &mut self,
        message: &Outgoing<'_, E>,
    ) -> Result<Pushed, EncodeError> {
        let head = message.head.to_vec()?;
        let payload_bytes = message.payload.bytes();
        let payload = match self.pins.allows(&message.payload, &self.sealed) {
            true => message.payload,
            false => Tail::Copy(payload_bytes),
        };
        let total = head.len() + payload_bytes.len();
        let room = usize::from(self.config.batch_size)
            .saturating_sub(FRAGMENT_HEADER_BYTES_MAX + self.config.framing.prefix_bytes())
            .max(1);
        let mut at = 0;
        while at < total {
            let end = total.min(at + room);
            // The message counts once its last piece is queued.
            self.accepted += u64::from(end == total);
            let header = Fragment {
                reliability: message.reliability,
                priority: self.config.priority,
                sn: self.next_sn[channel(message.reliability)],
                more: end < total,
                first: at == 0,
                drop: false,
                payload: &[],
            };
            let own = head.get(at..end.min(head.len())).unwrap_or(&[]);
            let start = at.max(head.len()) - head.len();
            let batch = fragment(
                &header,
                own,
                &payload,
                start..start + (end - at - own.len()),
                self.config.framing,
            );
            self.enqueue(batch);
            self.advance(message.reliability);
            at = end;
        }
        Ok(Pushed::Sealed)
    }

    /// Returns the sequence numbers of the next frames.
    #[must_use]
    pub fn next_sn(&self) -> NextSn {
        NextSn {
            reliable: self.next_sn[channel(Reliability::Reliable)],
            best_effort: self.next_sn[channel(Reliability::BestEffort)],
        }
    }

    #[inline]
    fn advance(&mut self, reliability: Reliability) {
        let sn = &mut self.next_sn[channel(reliability)];
        *sn = sn.wrapping_add(1) & self.config.sn_mask;
    }

    /// Seals the open batch; true if there was one.
    fn seal_open(&mut self) -> bool {
        self.frame = None;
        let Some(batch) = self.open.take() else {
            return false;
        };
        self.enqueue(batch);
        true
    }

    pub(super) fn queue(&self) -> WaitingBatches<'_> {
        WaitingBatches {
            pins: &self.pins,
            sealed: &self.sealed,
        }
    }

    /// Returns the bytes of memory that its buffers take.
    #[must_use]
    pub fn memory(&self) -> usize {
        let open = usize::from(self.open.is_some());
        (self.spares.len() + open) * self.buffer_bytes() + self.own_bytes
    }

    /// Returns the bytes of foreign memory that it keeps: receive blocks in which payloads of its
    /// queue lie.
    #[must_use]
    pub fn pinned(&self) -> usize {
        self.pins.memory()
    }

    pub(super) fn config(&self) -> &LaneConfig {
        &self.config
    }

    /// Extends the last queued batch by `put`, which may refuse; true if `put` succeeded.
    pub(super) fn extend_last(
        &mut self,
        put: impl FnOnce(&mut Batch, WaitingBatches<'_>) -> Result<(), EncodeError>,
    ) -> bool {
        let Some(mut last) = self.sealed.pop_back() else {
            return false;
        };
        let (before, had_payload) = (last.wire_len(), last.tail().is_some());
        let done = put(&mut last, self.queue()).is_ok();
        self.sealed_bytes += last.wire_len() - before;
        if let Some(payload) = last.tail().filter(|_| !had_payload) {
            self.pins.enter(payload, self.sealed.back());
        }
        if done {
            self.accepted += 1;
            last.extended(self.accepted);
        }
        self.sealed.push_back(last);
        done
    }

    /// Queues a batch that holds one message.
    pub(super) fn enqueue_message(&mut self, batch: Batch) {
        self.accepted += 1;
        self.enqueue(batch);
    }

    #[inline]
    pub(super) fn enqueue(&mut self, mut batch: Batch) {
        batch.seal(self.config.priority, self.accepted);
        self.sealed_bytes += batch.wire_len();
        if batch.is_fragment() {
            self.fragment_bytes += batch.wire_len();
        }
        if self.own_bytes > 2 * self.config.queue_bytes_max {
            self.tighten(&mut batch);
        }
        self.own_bytes += batch.capacity();
        if let Some(payload) = batch.tail() {
            self.pins.enter(payload, self.sealed.back());
        }
        self.sealed.push_back(batch);
    }

    /// Replaces the batch's buffer by one of its size if the buffers take more than two queues: a
    /// buffer that holds only the head of a shared payload takes up to 64 KiB, and thousands of
    /// them wait for a peer that does not keep up.
    #[cold]
    fn tighten(&mut self, batch: &mut Batch) {
        // The last batch of bare messages may still grow.
        let may_grow = self.config.framing.is_bare() && batch.tail().is_none();
        if !may_grow && let Some(buffer) = batch.tighten() {
            self.keep_spare(buffer);
        }
    }

    pub(super) fn fresh(&mut self) -> Batch {
        let buffer = self
            .spares
            .pop()
            .unwrap_or_else(|| vec![0; self.buffer_bytes()].into_boxed_slice());
        Batch::framed(buffer, self.config.framing)
    }

    pub(super) fn keep_spare(&mut self, buffer: Box<[u8]>) {
        if self.spares.len() < self.spares_max() {
            self.spares.push(buffer);
        }
    }

    fn spares_max(&self) -> usize {
        let whole_queue = self.config.queue_bytes_max / self.buffer_bytes().max(1);
        whole_queue.clamp(*SPARES.start(), *SPARES.end())
    }
}

#[inline]
fn channel(reliability: Reliability) -> usize {
    match reliability {
        Reliability::BestEffort => 0,
        Reliability::Reliable => 1,
    }
}

/// Queued batches of a lane, and the blocks that their payloads keep.
#[derive(Clone, Copy)]
pub(super) struct WaitingBatches<'a> {
    pins: &'a PinnedBlocks,
    sealed: &'a VecDeque<Batch>,
}

/// Appends one message; `frame` holds the next sequence numbers if a frame header must come first.
/// True if the payload was attached as a shared slice, which ends the batch. On an error the batch
/// is unchanged.
#[inline(always)]
pub(super) fn append<E: Encode + ?Sized>(
    batch: &mut Batch,
    config: &LaneConfig,
    frame: Option<&[u32; 2]>,
    message: &Outgoing<'_, E>,
    queue: WaitingBatches<'_>,
) -> Result<bool, EncodeError> {
    // Encode the frame header, if one must come first, and the head.
    let room = batch.room();
    let mut writer = Writer::new(batch.spare());
    if let Some(next_sn) = frame {
        let sn = next_sn[channel(message.reliability)];
        FrameHeader {
            reliability: message.reliability,
            priority: config.priority,
            sn,
        }
        .encode(&mut writer)?;
    }
    message.head.encode(&mut writer)?;
    // Attach a large payload as a slice if the lane may keep its memory.
    let payload = message.payload.bytes();
    if payload.len() >= config.share_bytes_min {
        if config.share_bytes_min < SHARE_BYTES_MIN {
            return Err(EncodeError::NoRoom);
        }
        let written = writer.position();
        if room - written < payload.len() {
            return Err(EncodeError::NoRoom);
        }
        if queue.pins.allows(&message.payload, queue.sealed)
            && let Some(slice) = message.payload.share(0, payload.len())
        {
            batch.commit(written);
            batch.attach(slice);
            return Ok(true);
        }
    }
    // Copy the payload otherwise.
    writer.bytes(payload)?;
    let written = writer.position();
    batch.commit(written);
    Ok(false)
}

/// Returns the batch of one fragment: its header, its part of the message's head, its part of the
/// payload.
fn fragment(
    header: &Fragment<'_>,
    own: &[u8],
    payload: &Tail<'_>,
    range: std::ops::Range<usize>,
    framing: Framing,
) -> Batch {
    // Share a large part of the payload, and copy a small one.
    let shared = if range.len() >= SHARE_BYTES_MIN {
        payload.share(range.start, range.end)
    } else {
        None
    };
    let copied = if shared.is_some() {
        &[][..]
    } else {
        payload.bytes().get(range).unwrap_or(&[])
    };
    // Size the buffer for the header and the copied parts.
    let header_bytes = framing.prefix_bytes() + FRAGMENT_HEADER_BYTES_MAX;
    let capacity = header_bytes + own.len() + copied.len();
    let mut batch = Batch::framed(vec![0; capacity].into_boxed_slice(), framing);
    batch.mark_fragment();
    // Encode the parts, and attach the shared one.
    let mut writer = Writer::new(batch.spare());
    header
        .encode_header(&mut writer)
        .and_then(|()| writer.bytes(own))
        .and_then(|()| writer.bytes(copied))
        .expect("the buffer is sized for the largest header and both parts");
    let written = writer.position();
    batch.commit(written);
    if let Some(slice) = shared {
        batch.attach(slice);
    }
    batch
}
