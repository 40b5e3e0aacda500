// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links with another framing than the plain one: batches that may be compressed, and bare
//! messages.
//!
//! Neither reads fragments to their place: a compressed batch has to be unpacked first, and bare
//! messages have no fragments.

use std::sync::Arc;

use zonda_codec::ZSlice;
use zonda_runtime::Runtime;

use crate::{
    clock,
    driver::{Ended, Handler},
    protocol::{
        compression::{Content, Unpacker},
        options::Framing,
        rx::{Flow, PeerMisbehaved},
    },
};

use super::{Progress, ReadTask, next_batch};

/// Bytes of messages between two readings of the clock: a few tenths of a millisecond where each
/// message is a keep-alive. A batch is smaller than this, and a compressed one may arrive as a few
/// bytes.
const LOOK_BYTES: usize = 32 * 1024;

/// Bytes of the length in front of a bare message.
const LENGTH_BYTES: usize = 4;

/// Memory that unpacking needs.
#[derive(Default)]
pub(super) struct Unpacking {
    unpacker: Unpacker,
    /// Compressed batch that a pause has interrupted.
    unpacked: Option<ZSlice>,
}

impl Unpacking {
    /// Frees the memory that is kept for the next batches.
    pub(super) fn release(&mut self) {
        self.unpacker.release();
    }
}

impl<R: Runtime, H: Handler> ReadTask<R, H> {
    /// Passes the content of the block to the receiver, as much as the handler takes in one go.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_framed(&mut self, framing: Framing) -> Result<Progress, Ended> {
        let buffer = Arc::clone(&self.block);
        let filled = buffer.0.filled();
        let Ok(block) = ZSlice::new(Arc::clone(&buffer) as _, 0, filled.len()) else {
            return Ok(Progress::Done);
        };
        let mut handled = 0;
        loop {
            // Yield after a number of bytes, whatever the number of batches.
            if handled >= LOOK_BYTES {
                handled = 0;
                self.turn.note_read(clock::now());
                if self.turn.is_over() {
                    return Ok(Progress::Paused);
                }
            }
            if self.handler.wants_pause() {
                return Ok(Progress::Paused);
            }
            // Find the next whole batch or message, or the one that a pause interrupted.
            let start = self.paused.map_or(self.consumed, |(_, start)| start);
            let next = match framing {
                Framing::Bare => self.next_message(filled, start)?,
                Framing::Plain | Framing::Compressed => next_batch(filled, start),
            };
            let Some((batch, end)) = next else {
                return Ok(Progress::Done);
            };
            if self.outbox.is_closed() {
                return Err(self.why_closed());
            }
            // Decode it and deliver its messages.
            self.consumed = end;
            let flow = match framing {
                Framing::Bare => {
                    handled += batch.len();
                    self.take_message(batch, &block)
                }
                Framing::Plain | Framing::Compressed => {
                    self.take_batch(batch, &block, &mut handled)
                }
            };
            match flow.map_err(|misbehaved| Ended::Misbehaved(misbehaved.to_string()))? {
                Flow::Open => {}
                Flow::Paused(pause) => {
                    self.paused = Some((pause, start));
                    return Ok(Progress::Paused);
                }
                Flow::Closed { reason } => return Err(Ended::Remote(reason)),
            }
        }
    }

    /// Delivers the batch behind its flags, in `block` or unpacked, and adds its bytes to
    /// `handled`. A batch that a pause interrupts stays unpacked until its end.
    fn take_batch(
        &mut self,
        batch: &[u8],
        block: &ZSlice,
        handled: &mut usize,
    ) -> Result<Flow, PeerMisbehaved> {
        let paused = self.paused.take();
        let Some(unpacking) = &mut self.unpacking else {
            return Ok(Flow::Open);
        };
        // Unpack the batch, unless a pause has interrupted it.
        if paused.is_none() {
            unpacking.unpacked = match unpacking.unpacker.open(batch)? {
                Content::Plain => None,
                Content::Unpacked(unpacked) => Some(unpacked),
            };
        }
        let (content, block) = match &unpacking.unpacked {
            Some(unpacked) => (unpacked.as_slice(), unpacked),
            None => (batch.get(1..).unwrap_or(&[]), block),
        };
        // Deliver its messages, and keep the unpacked content during a pause.
        *handled += content.len();
        let flow = match paused {
            None => self
                .receiver
                .handle_batch(content, block, &mut self.handler),
            Some((pause, _)) => {
                self.receiver
                    .resume_batch(pause, content, block, &mut self.handler)
            }
        };
        if !matches!(flow, Ok(Flow::Paused(_))) {
            unpacking.unpacked = None;
        }
        flow
    }

    fn take_message(&mut self, message: &[u8], block: &ZSlice) -> Result<Flow, PeerMisbehaved> {
        match self.paused.take() {
            None => self.receiver.handle_bare(message, block, &mut self.handler),
            Some((pause, _)) => self
                .receiver
                .resume_bare(pause, message, block, &mut self.handler),
        }
    }

    /// Returns the message whose length starts at `at`, and the start of the next length; `None` if
    /// the message has not arrived as a whole.
    fn next_message<'f>(
        &self,
        filled: &'f [u8],
        at: usize,
    ) -> Result<Option<(&'f [u8], usize)>, Ended> {
        let Some((length, rest)) = filled
            .get(at..)
            .and_then(<[u8]>::split_first_chunk::<LENGTH_BYTES>)
        else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length);
        let length = self
            .receiver
            .check_bare(length)
            .map_err(|misbehaved| Ended::Misbehaved(misbehaved.to_string()))?;
        let end = at + LENGTH_BYTES + length;
        Ok(rest.get(..length).map(|message| (message, end)))
    }
}
