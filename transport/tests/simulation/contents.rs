// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a pipe carries of the batches of each kind of link, and what is in it.

use zonda_transport::protocol::compression::{Content, Unpacker};
use zonda_transport::protocol::options::Framing;
use zonda_transport::protocol::tx::Batch;

pub struct Contents {
    framing: Framing,
    unpacker: Unpacker,
}

impl Contents {
    pub fn new(framing: Framing) -> Self {
        Contents {
            framing,
            unpacker: Unpacker::default(),
        }
    }

    /// The bytes that a pipe takes: a batch without its prefix, or bare messages as they are.
    pub fn outgoing(&self, batch: &Batch) -> Vec<u8> {
        let tail = batch.tail().map_or(&[][..], |tail| tail.as_slice());
        let bytes = [batch.head(), tail].concat();
        if self.framing == Framing::Bare {
            return bytes;
        }
        let prefix = u16::from_le_bytes([bytes[0], bytes[1]]);
        let counted = usize::from(prefix);
        assert_eq!(counted, bytes.len() - 2, "the prefix counts the batch");
        bytes[2..].to_vec()
    }

    /// The messages of a batch; `None` if there is no batch.
    pub fn plain(&mut self, batch: &[u8]) -> Option<Vec<u8>> {
        match self.framing {
            Framing::Plain => Some(batch.to_vec()),
            Framing::Bare => None,
            Framing::Compressed => match self.unpacker.open(batch).ok()? {
                Content::Plain => Some(batch.get(1..).unwrap_or(&[]).to_vec()),
                Content::Unpacked(unpacked) => Some(unpacked.as_slice().to_vec()),
            },
        }
    }
}
