// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages whose payloads leave in shared memory: some bytes in the batch tell the peer where the payload lies.

use zonda_codec::{
    Encode, EncodeError, Writer,
    shared::{GROWTH_MAX, shared_form},
};

use super::lane::{Lane, Outgoing, Pushed};
use super::{SHARE_BYTES_MIN, Tail};

/// A message in its encoded form.
struct Encoded<'a>(&'a [u8]);

impl Encode for Encoded<'_> {
    fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        writer.bytes(self.0)
    }
}

impl Lane {
    /// Queues a message in its shared form. `None`, with nothing queued, if the lane's peer shares no memory, the message
    /// has no such form, or the payload has to go as bytes.
    #[cold]
    pub(super) fn push_shared<E: Encode + ?Sized>(
        &mut self,
        message: &Outgoing<'_, E>,
    ) -> Result<Option<Pushed>, EncodeError> {
        let Some(link) = &self.shared else {
            return Ok(None);
        };
        let head = message.head.to_vec()?;
        let mut form = vec![0; head.len() + GROWTH_MAX];
        let mut writer = Writer::new(&mut form);
        let payload = message.payload.slice();
        let describe = |priority, kind| link.describe(&payload, priority, kind);
        if !shared_form(&head, describe, &mut writer)? {
            return Ok(None);
        }
        let encoded = Encoded(writer.written());
        let message = Outgoing {
            reliability: message.reliability,
            head: &encoded,
            payload: Tail::NONE,
        };
        self.push(&message).map(Some)
    }
}

const _: () = assert!(GROWTH_MAX < SHARE_BYTES_MIN);
