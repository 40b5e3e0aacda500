// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading task: one read brings many batches, whose messages are delivered in place.

mod alarm;
pub(super) mod bundled;
mod framed;
mod held;
mod landing;
mod time_slice;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use zonda_codec::ZSlice;
use zonda_runtime::{LinkRead, Runtime, RxBuf};

use crate::{
    block::SharedBlock,
    clock,
    link::PriorityPause,
    outbox::Outbox,
    protocol::{
        options::Framing,
        rx::{Flow, Pause, Receiver},
    },
};

use super::{Ended, Handler};

/// Bytes of a receive block, the most that one read brings. The block must hold the largest batch
/// and its prefix.
const BLOCK_BYTES: usize = 256 * 1024;

/// Bytes of a receive block while a link brings little: a page, a 64th of [`BLOCK_BYTES`], because a
/// node may have thousands of idle links.
const SMALL_BLOCK_BYTES: usize = 4096;

/// Maximum bytes of a read that consists of one keep-alive, which an idle peer sends.
const KEEP_ALIVE_BYTES: usize = 5;

/// Minimum spare bytes of a block that is read into again: the largest batch and its prefix must
/// fit.
const SPARE_BYTES_MIN: usize = 65_535 + 4;

/// Maximum number of blocks that a link keeps while samples still refer to them; further blocks
/// belong to the samples alone.
const POOL_MAX: usize = 4;

/// State of the reading task.
pub(super) struct ReadTask<R, H> {
    runtime: R,
    receiver: Receiver,
    outbox: Arc<Outbox>,
    handler: H,
    block: Arc<SharedBlock>,
    /// Bytes of `block` that are processed.
    consumed: usize,
    /// Resume point in the batch that ends at `consumed`, and the start of that batch, if the
    /// handler wanted a pause within it.
    paused: Option<(Pause, usize)>,
    pool: Vec<Arc<SharedBlock>>,
    /// Receiver's count of discarded items at the last look.
    thrown_away: u64,
    /// Time until which the memory of a large message is kept; set once a read of another kind has
    /// begun.
    keeps_until: Option<Instant>,
    /// Time slice of this task since it last waited.
    turn: time_slice::TimeSlice,
    /// Memory for compressed batches. Boxed, because few links have it.
    unpacking: Option<Box<framed::Unpacking>>,
    /// Bits of the priorities that wait for a declaration.
    held: u8,
    valve: PriorityPause,
    /// Bound of the wait for the socket.
    alarm: alarm::Alarm,
    /// Close message that the peer may not have sent itself.
    doubt: Option<alarm::UnverifiedClose>,
    /// Set if any machine can send in the name of the peer.
    is_forgeable: bool,
    /// Interval in which the peer has to send a message.
    keep_alive: Duration,
}

impl<R: Runtime, H: Handler> ReadTask<R, H> {
    pub(super) fn new(runtime: R, receiver: Receiver, outbox: Arc<Outbox>, handler: H) -> Self {
        Self {
            runtime,
            unpacking: (receiver.framing() == Framing::Compressed).then(Box::default),
            receiver,
            outbox,
            handler,
            block: Arc::new(SharedBlock::default()),
            consumed: 0,
            paused: None,
            pool: Vec::new(),
            thrown_away: 0,
            keeps_until: None,
            turn: time_slice::TimeSlice::default(),
            held: 0,
            valve: PriorityPause::default(),
            alarm: alarm::Alarm::default(),
            doubt: None,
            is_forgeable: false,
            keep_alive: Duration::ZERO,
        }
    }

    /// Returns the task of a link on which, if `is_forgeable`, any machine may send in the name of
    /// the peer. The peer itself has to send a message in each `keep_alive`.
    pub(super) fn forgeable(self, is_forgeable: bool, keep_alive: Duration) -> Self {
        Self {
            is_forgeable,
            keep_alive,
            ..self
        }
    }

    /// Returns the task of a link whose carrier stops priorities by `valve`.
    pub(super) fn holding_by(self, valve: PriorityPause) -> Self {
        Self { valve, ..self }
    }

    /// Reads until the connection ends, then reports the cause to the handler.
    pub(super) async fn run<L: LinkRead>(mut self, mut link: L, unread: Vec<u8>) {
        let ended = self.read_all(&mut link, &unread).await;
        if self.receiver.held_lanes() != 0 {
            self.end_held(&ended).await;
        }
        let ended = self.outbox.end_of_reading(ended);
        self.outbox.end(ended.clone());
        let lingers = ended == Ended::Local;
        self.handler.closed(ended);
        if lingers {
            self.discard(&mut link).await;
        }
        self.outbox.abort();
    }

    /// Reads and discards until the peer hangs up: the system resets a socket that is closed with
    /// unread bytes, and the peer might lose the last messages of this side. The writing task
    /// bounds the time.
    async fn discard<L: LinkRead>(&mut self, link: &mut L) {
        let mut buffer = RxBuf::new(SPARE_BYTES_MIN);
        loop {
            buffer.clear();
            let (result, back) = link.read(buffer).await;
            buffer = back;
            if !matches!(result, Ok(count) if count > 0) {
                return;
            }
        }
    }

    async fn read_all<L: LinkRead>(&mut self, link: &mut L, unread: &[u8]) -> Ended {
        let mut buffer = RxBuf::new(block_bytes(SMALL_BLOCK_BYTES, unread.len(), unread.len()));
        let first = unread.len().min(buffer.spare_mut().len());
        buffer.spare_mut()[..first].copy_from_slice(&unread[..first]);
        buffer.advance(first);
        self.receiver.note_bytes(first);
        self.block = self.counted(buffer.capacity());
        self.put_back(buffer);
        loop {
            let delivered = self.deliver();
            self.outbox.note_arrived(&self.receiver.arrived());
            self.note_discarded();
            self.handler.received(&self.receiver);
            // Also when a Close followed the data: forwarded messages must not stay in their lanes.
            self.handler.burst_end().await;
            let progress = match delivered {
                Ok(progress) => {
                    self.note_alive();
                    progress
                }
                Err(ended) if self.doubts(&ended) => Progress::Done,
                Err(ended) => return ended,
            };
            if self.outbox.is_closed() {
                return self.why_closed();
            }
            if let Progress::Paused = progress {
                // The silence is this task's, not the peer's: the task did not read.
                self.outbox.note_received(clock::now());
                if self.handler.is_turn_over() {
                    self.runtime.yield_now().await;
                }
                continue;
            }
            // A node that closes writes what is queued, but takes nothing more.
            if self.outbox.is_closing() {
                self.outbox.over().await;
                self.discard(link).await;
                return self.why_closed();
            }
            if let Some(hopeless) = self.receiver.hopeless(clock::now) {
                return hopeless.into();
            }
            if self.turn.is_over() {
                self.runtime.yield_now().await;
            }
            let held = self.receiver.held_lanes();
            let read = match held | self.held {
                0 => self.read_once(link).await,
                // Boxed, because it is rarely needed and would make every reading task larger.
                _ => Box::pin(self.read_beside_held(link)).await,
            };
            let read = match read {
                Ok(read) => read,
                Err(ended) => return ended,
            };
            match read {
                Ok(0) if self.outbox.is_closed() => return self.why_closed(),
                Ok(0) => return Ended::HungUp,
                Ok(count) => {
                    self.receiver.note_bytes(count);
                    let now = clock::now();
                    self.turn.note_read(now);
                    self.outbox.note_received(now);
                }
                Err(_) if self.outbox.is_closed() => return self.why_closed(),
                Err(error) => return error.into(),
            }
        }
    }

    /// Notes the receiver's counts of discarded items if they have changed.
    fn note_discarded(&mut self) {
        let thrown_away = self.receiver.thrown_away();
        if thrown_away != self.thrown_away {
            self.thrown_away = thrown_away;
            if self.outbox.note_discarded(&self.receiver.received()) {
                self.handler.missed_too_large();
            }
        }
    }

    fn why_closed(&self) -> Ended {
        self.outbox.ended().cloned().unwrap_or(Ended::Local)
    }

    /// Passes the whole batches of the block to the receiver, as many as the handler takes in one
    /// go.
    fn deliver(&mut self) -> Result<Progress, Ended> {
        // Other framings and landed fragments are handled first.
        let framing = self.receiver.framing();
        if framing != Framing::Plain {
            return self.deliver_framed(framing);
        }
        self.deliver_landed();
        let buffer = Arc::clone(&self.block);
        let filled = buffer.0.filled();
        let Ok(block) = ZSlice::new(Arc::clone(&buffer) as _, 0, filled.len()) else {
            return Ok(Progress::Done);
        };
        loop {
            // Find the next whole batch, or the one that a pause interrupted.
            if self.handler.wants_pause() {
                return Ok(Progress::Paused);
            }
            let paused = self.paused.take();
            let start = paused.map_or(self.consumed, |(_, start)| start);
            let Some((batch, end)) = next_batch(filled, start) else {
                self.land();
                return Ok(Progress::Done);
            };
            if self.outbox.is_closed() {
                return Err(self.why_closed());
            }
            // Decode the batch and deliver its messages.
            self.consumed = end;
            let handler = &mut self.handler;
            let flow = match paused {
                None => self.receiver.handle_batch(batch, &block, handler),
                Some((pause, _)) => self.receiver.resume_batch(pause, batch, &block, handler),
            };
            match flow {
                Ok(Flow::Open) => {}
                Ok(Flow::Paused(pause)) => {
                    self.paused = Some((pause, start));
                    return Ok(Progress::Paused);
                }
                Ok(Flow::Closed { reason }) => return Err(Ended::Remote(reason)),
                Err(misbehaved) => return Err(Ended::Misbehaved(misbehaved.to_string())),
            }
        }
    }

    /// Returns the buffer for the next read: the same block if no sample holds it, else another one
    /// that starts with the unfinished batch.
    fn next_buffer(&mut self) -> RxBuf {
        // Change the size of the block if the last reads call for it.
        let (bytes, filled) = (self.block.0.capacity(), self.block.0.filled().len());
        let wanted = block_bytes(bytes, filled, filled - self.consumed);
        if wanted != bytes {
            return self.resized(wanted);
        }
        // Reuse the block if no sample holds it.
        if let Some(block) = Arc::get_mut(&mut self.block) {
            let mut buffer = block.0.take();
            if self.consumed == buffer.filled().len() {
                buffer.clear();
                self.consumed = 0;
            } else if buffer.spare_mut().len() < SPARE_BYTES_MIN {
                buffer.discard_front(self.consumed);
                self.consumed = 0;
            }
            return buffer;
        }
        // Move the unfinished batch to another block, and keep the held one for later.
        let mut fresh = self.unused_block();
        let left = self.block.0.filled().get(self.consumed..).unwrap_or(&[]);
        fresh.spare_mut()[..left.len()].copy_from_slice(left);
        fresh.advance(left.len());
        self.consumed = 0;
        let empty = self.counted(fresh.capacity());
        let held = std::mem::replace(&mut self.block, empty);
        if self.pool.len() < POOL_MAX {
            self.pool.push(held);
        }
        fresh
    }

    /// Returns a buffer of another size that starts with the unfinished batch. Blocks that samples
    /// hold are left to the samples.
    #[cold]
    #[inline(never)]
    fn resized(&mut self, bytes: usize) -> RxBuf {
        self.pool = Vec::new();
        if let Some(unpacking) = &mut self.unpacking {
            unpacking.release();
        }
        let empty = self.counted(bytes);
        let held = std::mem::replace(&mut self.block, empty);
        let left = held.0.filled().get(self.consumed..).unwrap_or(&[]);
        let mut fresh = RxBuf::new(bytes);
        fresh.spare_mut()[..left.len()].copy_from_slice(left);
        fresh.advance(left.len());
        self.consumed = 0;
        fresh
    }

    /// Returns a buffer that no sample refers to any more, else a new one of the same size.
    fn unused_block(&mut self) -> RxBuf {
        let unused = self
            .pool
            .iter()
            .position(|block| Arc::strong_count(block) == 1);
        if let Some(mut block) = unused.map(|index| self.pool.swap_remove(index))
            && let Some(inner) = Arc::get_mut(&mut block)
        {
            let mut buffer = inner.0.take();
            buffer.clear();
            return buffer;
        }
        RxBuf::new(self.block.0.capacity())
    }

    fn put_back(&mut self, buffer: RxBuf) {
        if let Some(block) = Arc::get_mut(&mut self.block) {
            block.0 = buffer;
        } else {
            self.block = self.counted(buffer.capacity());
            self.put_back(buffer);
        }
    }

    /// Returns a block for a buffer of `bytes`, which count from now on.
    fn counted(&self, bytes: usize) -> Arc<SharedBlock> {
        let share = self.receiver.defragmenter().share();
        let mut charge = share.map(|share| share.block()).unwrap_or_default();
        charge.set(bytes);
        Arc::new(SharedBlock(RxBuf::default(), charge))
    }
}

/// Returns the size of the block after one of `bytes`, of which `filled` are read and `left` are an unfinished batch:
/// small again after a keep-alive, large once much comes.
fn block_bytes(bytes: usize, filled: usize, left: usize) -> usize {
    if left > 0 || filled > SMALL_BLOCK_BYTES / 2 {
        BLOCK_BYTES
    } else if filled <= KEEP_ALIVE_BYTES {
        SMALL_BLOCK_BYTES
    } else {
        bytes
    }
}

/// Progress with the batches of a block.
enum Progress {
    /// All whole batches are delivered.
    Done,
    /// Batches are left for the time when the handler no longer wants a pause.
    Paused,
}

/// Returns the batch that starts at `at` and the start of the next one; `None` if the batch has not
/// arrived as a whole.
#[inline]
fn next_batch(filled: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let prefix = filled.get(at..at + 2)?;
    let start = at + 2;
    let end = start + usize::from(u16::from_le_bytes([prefix[0], prefix[1]]));
    Some((filled.get(start..end)?, end))
}

#[cfg(test)]
pub(super) mod tests;
