// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages whose payloads lie in shared memory: delivered on a link whose ends share memory, and dropped on any other.
//!
//! A push is delivered with its payload where it lies. Other messages are copied into their plain form, of which their
//! handlers read all bytes.

use zonda_codec::{
    DecodeError, Push, PushBody, Reader, ZSlice,
    shared::{Kind, SharedMessage, Slice},
};

use crate::protocol::shared::{Unresolved, append};

use super::{Context, DecodePass, Deliver, Pause, PeerMisbehaved, Receiver, deliver_one};

/// Message with a resolved payload.
enum Whole {
    /// A push up to its payload, which is not empty.
    Push { head: Vec<u8>, payload: ZSlice },
    /// The plain form.
    Plain(ZSlice),
}

impl Whole {
    /// Returns the message; `None` if it has no plain form.
    fn new(message: &SharedMessage<'_>, payload: ZSlice) -> Option<Whole> {
        if message.kind() == Kind::Put && !payload.is_empty() {
            let (head, _) = message.plain(0).ok()?;
            return Some(Whole::Push { head, payload });
        }
        let (mut bytes, rest) = message.plain(payload.len()).ok()?;
        if !append(&payload, &mut bytes) {
            return None;
        }
        bytes.extend_from_slice(rest);
        Some(Whole::Plain(ZSlice::from(bytes)))
    }

    /// Returns the plain form, for a message that is delivered again later. Bytes that are lost by now are zeros.
    fn plain(&self, message: &SharedMessage<'_>) -> ZSlice {
        match self {
            Whole::Plain(bytes) => bytes.clone(),
            Whole::Push { payload, .. } => {
                let head = message.plain(payload.len());
                let (mut bytes, _) = head.unwrap_or_default();
                if !append(payload, &mut bytes) {
                    bytes.resize(bytes.len() + payload.len(), 0);
                }
                ZSlice::from(bytes)
            }
        }
    }

    /// Delivers the message; false if it cannot be decoded.
    fn deliver<D: Deliver>(&self, context: &Context<'_>, deliver: &mut D) -> bool {
        match self {
            Whole::Push { head, payload } => {
                let Ok((mut push, _)) = Push::decode_with_raw(&mut Reader::new(head)) else {
                    return false;
                };
                if let PushBody::Put(put) = &mut push.body {
                    put.payload = payload.as_slice();
                }
                let block = payload;
                deliver.push(&push, &[], &Context { block, ..*context });
            }
            Whole::Plain(bytes) => {
                let context = Context {
                    block: bytes,
                    ..*context
                };
                return deliver_one(bytes.as_slice(), &context, deliver) == Ok(true);
            }
        }
        true
    }
}

impl Receiver {
    #[cold]
    pub(super) fn note_shared_memory(&mut self) {
        self.counters.messages_undecodable += 1;
        self.counters.messages_in_shared_memory += 1;
    }

    /// Delivers a message that a decoder has reported as one in shared memory. True if it came too early: it is kept then,
    /// for a later delivery.
    #[cold]
    pub(super) fn hand_on_shared<D: Deliver>(
        &mut self,
        raw: &[u8],
        context: &Context<'_>,
        deliver: &mut D,
    ) -> bool {
        let (Some(link), Some(message)) = (&self.shared, SharedMessage::read(raw)) else {
            self.note_shared_memory();
            return false;
        };
        let descriptors = message
            .slices()
            .filter(|slice| matches!(slice, Slice::Shared(_)));
        self.counters.descriptors += descriptors.count() as u64;
        let payload = link.resolve(&message, self.counters.batches, self.message_size_max);
        if payload == Err(Unresolved::TooLarge) {
            self.defragmenter.note_too_large();
            return false;
        }
        let whole = payload
            .ok()
            .and_then(|payload| Whole::new(&message, payload));
        let Some(whole) = whole.filter(|whole| whole.deliver(context, deliver)) else {
            self.note_shared_memory();
            return false;
        };
        self.note_whole(|| whole.plain(&message), context, deliver)
    }
}

impl<D: Deliver> DecodePass<'_, D> {
    /// Handles a message that was not decoded and ends at `r`: delivers one in shared memory. Returns the point to go on
    /// from after a pause.
    #[cold]
    pub(super) fn set_apart(
        &mut self,
        error: DecodeError,
        start: Reader<'_>,
        r: &Reader<'_>,
        context: &Context<'_>,
    ) -> Result<Option<Pause>, PeerMisbehaved> {
        let DecodeError::SharedMemory { .. } = error else {
            return self.unusable(start.position(), error).map(|()| None);
        };
        let raw = r.since(start);
        let (priority, reliability) = (context.priority, context.reliability);
        let at = r.position();
        match self.receiver.hand_on_shared(raw, context, self.deliver) {
            false => Ok(self.pause((priority, reliability), at, r)),
            true => Ok(Some(Pause {
                at,
                reliability,
                priority,
            })),
        }
    }
}
