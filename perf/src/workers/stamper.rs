// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payloads with stamps at a negligible cost. A short payload is made in place. Longer ones
//! overlap: a block of memory begins with the stamps of many messages, and each message is the part
//! of it that begins with its stamp, so that all share one memory like copies of a single payload,
//! whatever their length. When all stamps are used, the block is stamped again, if the node has
//! released it; otherwise another block replaces it.
//!
//! ```text
//! +---------+---------+---------+-- .. --+----------------------+
//! | stamp 0 | stamp 1 | stamp 2 |        |                      |
//! +---------+---------+---------+-- .. --+----------------------+
//! |<----------- message 0 ----------->|
//!           |<----------- message 1 ----------->|
//! ```

use bytes::{Bytes, BytesMut};
use zonda::bytes::ZBytes;
use zonda_codec::Payload;
use zonda_program::pattern;

use super::sequence_check::{STAMP, stamp};

/// The longest payload that needs no block.
const IN_PLACE: usize = 32;
/// Messages per block. The stamps of one block stay in the first-level cache.
const MESSAGES: usize = 2048;

/// A source of payloads.
pub struct Stamper {
    publisher: u16,
    size: usize,
    next: u64,
    source: Source,
}

enum Source {
    InPlace([u8; IN_PLACE]),
    Blocks(Blocks),
}

struct Blocks {
    /// The block in use, and the position of the next message.
    block: Payload,
    at: usize,
    /// All blocks. A block without other owners can be written again.
    all: Vec<Bytes>,
}

impl Stamper {
    /// Creates a source of payloads of `size` bytes from place 0 on.
    pub fn new(publisher: u16, size: usize) -> Self {
        let source = if size <= IN_PLACE {
            let mut bytes = [0; IN_PLACE];
            for (to, from) in bytes.iter_mut().zip(pattern(size)) {
                *to = from;
            }
            Source::InPlace(bytes)
        } else {
            Source::Blocks(Blocks {
                block: Payload::empty(),
                at: 0,
                all: Vec::new(),
            })
        };
        Stamper {
            publisher,
            size,
            next: 0,
            source,
        }
    }

    /// Returns the number of payloads made.
    pub fn made(&self) -> u64 {
        self.next
    }

    /// Returns the next payload. A payload too short for a stamp has none.
    #[inline(always)]
    pub fn payload(&mut self) -> ZBytes {
        let place = self.next;
        self.next += 1;
        match &mut self.source {
            Source::InPlace(bytes) => {
                if self.size >= STAMP
                    && let Some(head) = bytes.first_chunk_mut()
                {
                    *head = stamp(self.publisher, place);
                }
                ZBytes::from(bytes.get(..self.size).unwrap_or_default())
            }
            Source::Blocks(blocks) => {
                if blocks.at + self.size > blocks.block.len() {
                    blocks.renew(self.size, self.publisher, place);
                }
                let part = blocks.block.subslice(blocks.at..blocks.at + self.size);
                blocks.at += STAMP;
                part.unwrap_or_default().into()
            }
        }
    }
}

impl Blocks {
    /// Takes a block without other owners, or a new one, and stamps its messages from `place` on.
    #[cold]
    fn renew(&mut self, size: usize, publisher: u16, mut place: u64) {
        self.block = Payload::empty();
        let (at, mut block) = self.free(size);
        let (stamps, _) = block.as_chunks_mut();
        for at in stamps.iter_mut().take(MESSAGES) {
            *at = stamp(publisher, place);
            place += 1;
        }
        let block = block.freeze();
        if let Some(kept) = self.all.get_mut(at) {
            *kept = block.clone();
        }
        self.block = block.into();
        self.at = 0;
    }

    /// Returns a writable block, and its index among all.
    fn free(&mut self, size: usize) -> (usize, BytesMut) {
        for (at, kept) in self.all.iter_mut().enumerate() {
            match std::mem::take(kept).try_into_mut() {
                Ok(block) => return (at, block),
                Err(shared) => *kept = shared,
            }
        }
        self.all.push(Bytes::new());
        // the last message begins with the last stamp
        let block = Bytes::from(vec![7; (MESSAGES - 1) * STAMP + size]);
        let block = block.try_into_mut().unwrap_or_else(BytesMut::from);
        (self.all.len() - 1, block)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sequence_check::{ReceivedSequence, SequenceCheck};
    use super::*;

    #[test]
    fn every_payload_has_its_size_and_place() {
        for size in [0, 7, 8, 31, 32, 33, 64, 1000, 32 * 1024, 100_000] {
            let (mut stamper, check) = (Stamper::new(2, size), SequenceCheck::new(3));
            for _ in 0..3 * MESSAGES {
                let payload = stamper.payload();
                assert_eq!(payload.len(), size);
                check.receive(payload.as_slice());
            }
            let whole = ReceivedSequence {
                next: if size < STAMP { 0 } else { stamper.made() },
                ..ReceivedSequence::default()
            };
            assert_eq!(check.seen()[2], whole, "{size} bytes");
            assert_eq!(check.messages(), stamper.made());
        }
    }

    fn blocks(stamper: &Stamper) -> usize {
        match &stamper.source {
            Source::Blocks(blocks) => blocks.all.len(),
            Source::InPlace(_) => 0,
        }
    }

    #[test]
    fn blocks_are_used_again_once_nobody_has_a_share() {
        let mut stamper = Stamper::new(0, 1024);
        for _ in 0..5 * MESSAGES {
            drop(stamper.payload());
        }
        assert_eq!(blocks(&stamper), 1);
        let kept: Vec<ZBytes> = (0..=MESSAGES).map(|_| stamper.payload()).collect();
        assert_eq!(blocks(&stamper), 2);
        // payloads that are kept do not change
        let first = (5 * MESSAGES) as u64;
        for (payload, place) in kept.iter().zip(first..) {
            assert_eq!(&payload.as_slice()[..STAMP], stamp(0, place));
        }
        drop(kept);
        for _ in 0..5 * MESSAGES {
            drop(stamper.payload());
        }
        assert_eq!(blocks(&stamper), 2);
    }
}
