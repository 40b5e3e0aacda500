// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bare messages: each is sent by itself behind a length of 32 bits, without frame or sequence
//! number.
//!
//! Queued messages share a buffer all the same, so that one write sends them. A message that fits
//! in no buffer is refused: there are no fragments.

use zonda_codec::{Encode, EncodeError, Reliability};

use super::{
    Tail,
    batch::Batch,
    lane::{Lane, LaneConfig, Outgoing, Pushed, WaitingBatches, append},
};

/// Bytes of the length in front of a message.
const LENGTH_BYTES: usize = 4;

impl Lane {
    /// Returns the most bytes of an encoded message; `None` where longer ones are sent in
    /// fragments.
    #[must_use]
    pub fn message_bytes_max(&self) -> Option<usize> {
        let config = self.config();
        let is_bare = config.framing.is_bare();
        is_bare.then(|| usize::from(config.batch_size) - LENGTH_BYTES)
    }

    /// Encodes a message behind its length. The caller writes it at once, for which such links are
    /// made.
    ///
    /// # Errors
    /// [`EncodeError::TooLong`] if it fits in no buffer; nothing was queued.
    #[cold]
    pub(super) fn push_message<E: Encode + ?Sized>(
        &mut self,
        message: &Outgoing<'_, E>,
    ) -> Result<Pushed, EncodeError> {
        let config = *self.config();
        if self.extend_last(|last, queue| put(last, &config, message, queue)) {
            return Ok(Pushed::Heavy);
        }
        let mut batch = self.fresh();
        if put(&mut batch, &config, message, self.queue()).is_err() {
            self.keep_spare(batch.into_buffer());
            return Err(EncodeError::TooLong);
        }
        self.enqueue_message(batch);
        Ok(Pushed::Heavy)
    }

    /// Queues a keep-alive or a Close.
    pub(super) fn push_bare_alone<E: Encode + ?Sized>(&mut self, mut batch: Batch, message: &E) {
        let config = *self.config();
        let message = Outgoing {
            reliability: Reliability::Reliable,
            head: message,
            payload: Tail::NONE,
        };
        if put(&mut batch, &config, &message, self.queue()).is_ok() {
            self.enqueue(batch);
        }
    }
}

/// Appends a message to `batch`; on an error the batch is unchanged.
fn put<E: Encode + ?Sized>(
    batch: &mut Batch,
    config: &LaneConfig,
    message: &Outgoing<'_, E>,
    queue: WaitingBatches<'_>,
) -> Result<(), EncodeError> {
    if batch.tail().is_some() || batch.room() <= LENGTH_BYTES {
        return Err(EncodeError::NoRoom);
    }
    let start = batch.head().len();
    batch.commit(LENGTH_BYTES);
    if let Err(failure) = append(batch, config, None, message, queue) {
        batch.rewind(start);
        return Err(failure);
    }
    let length = batch.wire_len() - start - LENGTH_BYTES;
    let length = u32::try_from(length).expect("a buffer holds less");
    batch.patch(start, &length.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests;
