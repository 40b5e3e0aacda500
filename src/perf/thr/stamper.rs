// SPDX-License-Identifier: MIT OR Apache-2.0
//! Payloads with stamps that cost next to nothing: a short one is made in place; longer ones are parts
//! of one block of memory that is used again once the node has let go of it, so that a message costs
//! eight bytes written and no allocation, no copy and no more cache than it would without a stamp.

use bytes::{Bytes, BytesMut};
use zonda::bytes::ZBytes;
use zonda_codec::Payload;

use super::tally::{STAMP, stamp};
use crate::arguments::pattern;

/// Longest payload that needs no block.
const IN_PLACE: usize = 32;
/// A block holds as many messages as this many bytes do, one at least.
const BLOCK: usize = 32 * 1024;

/// Makes one payload after another.
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
    /// The block in use, and where the next message begins.
    block: Payload,
    at: usize,
    /// Every block there is. One of which nobody else has a share can be written again.
    all: Vec<Bytes>,
}

impl Stamper {
    /// Payloads of `size` bytes from place 0 on.
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

    /// How many payloads were made.
    pub fn made(&self) -> u64 {
        self.next
    }

    /// The next payload. One too short for a stamp has none.
    #[inline]
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
                if blocks.at >= blocks.block.len() {
                    blocks.renew(self.size, self.publisher, place);
                }
                let end = blocks.at + self.size;
                let part = blocks.block.subslice(blocks.at..end);
                blocks.at = end;
                part.unwrap_or_default().into()
            }
        }
    }
}

impl Blocks {
    /// Takes a block that nobody has a share of, or a new one, and stamps its messages from `place` on.
    #[cold]
    fn renew(&mut self, size: usize, publisher: u16, mut place: u64) {
        self.block = Payload::empty();
        let (at, mut block) = self.free(size);
        for message in block.chunks_exact_mut(size) {
            if let Some(head) = message.first_chunk_mut() {
                *head = stamp(publisher, place);
            }
            place += 1;
        }
        let block = block.freeze();
        if let Some(kept) = self.all.get_mut(at) {
            *kept = block.clone();
        }
        self.block = block.into();
        self.at = 0;
    }

    /// A block to write to, and its place among all.
    fn free(&mut self, size: usize) -> (usize, BytesMut) {
        for (at, kept) in self.all.iter_mut().enumerate() {
            match std::mem::take(kept).try_into_mut() {
                Ok(block) => return (at, block),
                Err(shared) => *kept = shared,
            }
        }
        let messages = (BLOCK / size).max(1);
        self.all.push(Bytes::new());
        let block = BytesMut::from(pattern(size).repeat(messages).as_slice());
        (self.all.len() - 1, block)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tally::{Seen, Tally};
    use super::*;

    #[test]
    fn every_payload_has_its_size_and_place() {
        for size in [0, 7, 8, 31, 32, 33, 64, 1000, 32 * 1024, 100_000] {
            let (mut stamper, tally) = (Stamper::new(2, size), Tally::new(3));
            for _ in 0..2000.min(4_000_000 / size.max(1)) {
                let payload = stamper.payload();
                assert_eq!(payload.len(), size);
                if size > STAMP {
                    let (rest, expected) = (&payload.as_slice()[STAMP..], pattern(size));
                    assert_eq!(rest, &expected[STAMP..]);
                }
                tally.receive(payload.as_slice());
            }
            let whole = Seen {
                next: if size < STAMP { 0 } else { stamper.made() },
                ..Seen::default()
            };
            assert_eq!(tally.seen()[2], whole, "{size} bytes");
            assert_eq!(tally.messages(), stamper.made());
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
        for _ in 0..1000 {
            drop(stamper.payload());
        }
        assert_eq!(blocks(&stamper), 1);
        let kept: Vec<ZBytes> = (0..96).map(|_| stamper.payload()).collect();
        assert!(blocks(&stamper) > 1);
        // and what was kept stays as it was
        let (first, last) = (&kept[0].as_slice()[..STAMP], &kept[95].as_slice()[..STAMP]);
        assert_eq!((first, last), (&stamp(0, 1000)[..], &stamp(0, 1095)[..]));
        let before = blocks(&stamper);
        drop(kept);
        for _ in 0..1000 {
            drop(stamper.payload());
        }
        assert_eq!(blocks(&stamper), before);
    }
}
