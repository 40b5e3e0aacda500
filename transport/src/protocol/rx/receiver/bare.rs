// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bare messages: each arrives by itself behind a length of 32 bits, without frame, sequence number
//! or priority.
//!
//! ```text
//! +------------+-----------------------------------------------+
//! | u32 length | one network message, or KeepAlive, or Close   |
//! +------------+-----------------------------------------------+
//! ```

use zonda_codec::ZSlice;
use zonda_codec::{NetworkMessage, Priority, Reader, Reliability, TransportMessage};

use super::{DecodePass, Deliver, Flow, Pause, PeerMisbehaved, Receiver};

/// Channel on which bare messages count as received.
const PRIORITY: Priority = Priority::Data;
const RELIABILITY: Reliability = Reliability::Reliable;

impl Receiver {
    /// Checks the length of a bare message; returns it as a `usize`.
    ///
    /// # Errors
    /// The message is longer than a batch may be.
    pub fn check_bare(&self, length: u32) -> Result<usize, PeerMisbehaved> {
        let (length, max) = (length as usize, self.batch_size);
        match length > usize::from(max) {
            true => Err(PeerMisbehaved::BatchTooLarge { length, max }),
            false => Ok(length),
        }
    }

    /// Processes the bytes behind one length; all else as for [`Receiver::handle_batch`]. Several
    /// messages behind one length are accepted as well.
    ///
    /// # Errors
    /// The peer broke the protocol; what came before has been delivered.
    pub fn handle_bare<D: Deliver>(
        &mut self,
        message: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        self.counters.batches += 1;
        self.counters.transport_messages += 1;
        let mut pass = DecodePass {
            receiver: self,
            batch_bytes: message.len(),
            block,
            deliver,
        };
        pass.bare(&mut Reader::new(message))
    }

    /// Resumes where a pause interrupted; all else as for [`Receiver::handle_bare`].
    ///
    /// # Errors
    /// The errors of [`Receiver::handle_bare`].
    pub fn resume_bare<D: Deliver>(
        &mut self,
        pause: Pause,
        message: &[u8],
        block: &ZSlice,
        deliver: &mut D,
    ) -> Result<Flow, PeerMisbehaved> {
        let mut pass = DecodePass {
            receiver: self,
            batch_bytes: message.len(),
            block,
            deliver,
        };
        let mut r = Reader::new(message);
        pass.decoded(0, r.take(pause.at))?;
        pass.bare(&mut r)
    }
}

impl<D: Deliver> DecodePass<'_, D> {
    fn bare(&mut self, r: &mut Reader<'_>) -> Result<Flow, PeerMisbehaved> {
        while let Some(byte) = r.peek() {
            if NetworkMessage::starts(byte) {
                if let Some(pause) = self.messages(PRIORITY, RELIABILITY, r)? {
                    return Ok(Flow::Paused(pause));
                }
                continue;
            }
            let offset = r.position();
            match self.decoded(offset, TransportMessage::decode(r))? {
                TransportMessage::KeepAlive => {}
                TransportMessage::Close(close) => {
                    return Ok(Flow::Closed {
                        reason: close.reason,
                    });
                }
                TransportMessage::Frame(_) | TransportMessage::Fragment(_) => {
                    return Err(PeerMisbehaved::Framed { offset });
                }
                _ => self.receiver.counters.ignored += 1,
            }
        }
        Ok(Flow::Open)
    }
}

#[cfg(test)]
mod tests;
