// SPDX-License-Identifier: MIT OR Apache-2.0
//! Path of received bytes from the streams of a connection to the link: whole batches one after the
//! other, whatever stream they arrive on. A batch that ends the link is kept until the other
//! streams are empty.

use bytes::Bytes;

use super::terms::STREAMS;

/// Number of batches of a handshake. They arrive on the first stream, and batches on further
/// streams are placed behind them.
const INTRODUCTION: usize = 2;

/// Mask of the message id in the low five bits of a message's first byte.
const ID_BITS: u8 = 0x1f;
const CLOSE_ID: u8 = 0x03;

/// Flags of an uncompressed batch on a compressed link; a Close is never compressed, as it never
/// gets shorter. No message begins with this byte.
const NOT_PACKED: u8 = 0;

/// Received bytes of each stream that are no whole batch yet.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    streams: [BatchSplitter; STREAMS],
    heard: usize,
}

/// Received bytes of one stream that are no whole batch yet.
#[derive(Debug, Default)]
struct BatchSplitter {
    kept: Vec<u8>,
    /// First byte of a length.
    low: Option<u8>,
    /// Bytes that the current batch still needs.
    left: usize,
    head: Head,
    /// State of the batch that ends the link.
    last: Last,
}

/// Received part of the current batch.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Head {
    /// Only its length has arrived.
    Missing,
    /// Its flags have arrived as well, on a link that compresses.
    Flags,
    /// The first byte of its first message has arrived.
    #[default]
    Known,
}

/// Batch that ends the link.
#[derive(Debug, Default, PartialEq, Eq)]
enum Last {
    /// The batch has not arrived.
    #[default]
    No,
    /// The batch has arrived and is kept.
    Kept,
    /// The batch was passed on; the link reads nothing behind it.
    Passed,
}

impl Incoming {
    /// Returns true once the handshake of the link is over.
    pub(super) fn is_introduced(&self) -> bool {
        self.heard >= INTRODUCTION
    }

    /// Returns the bytes of batches that are not whole yet.
    pub(super) fn kept_bytes(&self) -> usize {
        self.streams.iter().map(|cutter| cutter.kept.len()).sum()
    }

    /// Takes received bytes of a stream, and puts the whole batches into `found`.
    pub(super) fn take(&mut self, stream: usize, chunks: Vec<Bytes>, found: &mut Vec<Bytes>) {
        let cutter = &mut self.streams[stream];
        if cutter.last == Last::Passed {
            return found.extend(chunks);
        }
        self.heard += cutter.take(chunks, found, stream == 0);
    }

    /// Returns true if the batch that ends the link has arrived and is kept.
    pub(super) fn has_last(&self) -> bool {
        self.streams[0].last == Last::Kept
    }

    /// Puts the batch that ends the link into `found`, if it has arrived.
    pub(super) fn take_last(&mut self, found: &mut Vec<Bytes>) {
        let first = &mut self.streams[0];
        if first.last == Last::Kept {
            first.last = Last::Passed;
            found.push(std::mem::take(&mut first.kept).into());
        }
    }

    /// Takes received bytes of the first stream of a link without batches, and puts them into
    /// `found`.
    pub(super) fn take_bare(&mut self, chunks: Vec<Bytes>, found: &mut Vec<Bytes>) {
        let kept = std::mem::take(&mut self.streams[0].kept);
        found.extend((!kept.is_empty()).then(|| Bytes::from(kept)));
        found.extend(chunks);
    }
}

impl BatchSplitter {
    /// Returns the number of batches with a content. One that ends the link is kept, with all
    /// behind it, if `watched` is set.
    fn take(&mut self, chunks: Vec<Bytes>, found: &mut Vec<Bytes>, watched: bool) -> usize {
        let (mut batches, mut pending) = (0, Vec::new());
        for mut chunk in chunks {
            let (end, count) = self.cut(&chunk, watched);
            batches += count;
            if end > 0 {
                let kept = std::mem::take(&mut self.kept);
                found.extend((!kept.is_empty()).then(|| Bytes::from(kept)));
                found.append(&mut pending);
                found.push(chunk.split_to(end));
            }
            if !chunk.is_empty() {
                pending.push(chunk);
            }
        }
        // The bytes are copied, as a few of them may hold the memory of a whole datagram.
        pending
            .iter()
            .for_each(|chunk| self.kept.extend_from_slice(chunk));
        batches
    }

    /// Returns true if the current batch, whose next byte is `next`, begins with a Close.
    fn ends_link(&mut self, next: u8) -> bool {
        let was_known = self.head == Head::Known;
        self.head = match (self.head, next) {
            (Head::Missing, NOT_PACKED) => Head::Flags,
            _ => Head::Known,
        };
        !was_known && next & ID_BITS == CLOSE_ID
    }

    /// Returns the end of the last batch that ends in these bytes, and the number of batches that
    /// do.
    fn cut(&mut self, bytes: &[u8], watched: bool) -> (usize, usize) {
        let (mut at, mut end, mut batches) = (0, 0, 0);
        while at < bytes.len() && self.last == Last::No {
            // Skip content of the current batch, and keep a batch that ends the link.
            if self.left > 0 {
                if watched && self.ends_link(bytes[at]) {
                    self.last = Last::Kept;
                    break;
                }
                let most = match self.head {
                    Head::Flags => 1,
                    Head::Missing | Head::Known => self.left,
                };
                let count = most.min(bytes.len() - at);
                at += count;
                self.left -= count;
                if self.left == 0 {
                    end = at;
                    batches += 1;
                }
                continue;
            }
            // Read the two bytes of the next length.
            match self.low.take() {
                None => self.low = Some(bytes[at]),
                Some(low) => {
                    self.left = usize::from(u16::from_le_bytes([low, bytes[at]]));
                    self.head = Head::Missing;
                }
            }
            at += 1;
            // A batch without content ends at once.
            if self.low.is_none() && self.left == 0 {
                end = at;
            }
        }
        (end, batches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_batches_come_out_in_whatever_pieces_they_come() {
        let batches: Vec<Vec<u8>> = (0..100_u16)
            .map(|at| {
                let length = at * 37 % 700;
                let mut batch = length.to_le_bytes().to_vec();
                // none of them ends the link
                batch.resize(2 + usize::from(length), at as u8 | 4);
                batch
            })
            .collect();
        let all = batches.concat();
        for pieces in [1, 2, 3, 50, 1400, all.len()] {
            let mut incoming = Incoming::default();
            let mut passed = Vec::new();
            // The batches of two streams never mix.
            for (at, piece) in all.chunks(pieces).enumerate() {
                for stream in [0, 5] {
                    let mut found = Vec::new();
                    let chunk = Bytes::copy_from_slice(piece);
                    incoming.take(stream, vec![chunk], &mut found);
                    passed.extend(found.concat());
                    assert!(stream == 5 || at > 0 || pieces > 1 || passed.len() < 3);
                }
            }
            assert_eq!(passed.len(), 2 * all.len());
            let mut rest = &passed[..];
            while let [low, high, behind @ ..] = rest {
                let length = usize::from(u16::from_le_bytes([*low, *high]));
                let (batch, behind) = behind.split_at(length);
                assert!(batch.windows(2).all(|pair| pair[0] == pair[1]));
                rest = behind;
            }
            assert!(rest.is_empty() && incoming.is_introduced());
            assert!(incoming.streams.iter().all(|stream| stream.kept.is_empty()));
        }
    }

    /// The batch may arrive in two pieces, with any bytes before and behind it.
    #[test]
    fn a_batch_that_ends_the_link_stays_back() {
        check_last(&[2, 0, 0x05, 0x03], &[5, 0, 0x03, 0, 1, 2, 3]);
    }

    /// Flags precede the batch there, and precede bytes that look like one behind a compressed
    /// batch's flags.
    #[test]
    fn a_batch_that_ends_a_compressed_link_stays_back() {
        let before = [3, 0, 0, 0x05, 0x03, 3, 0, 1, 0x03, 0x03, 1, 0, 0, 1, 0, 4];
        check_last(&before, &[3, 0, 0, 0x03, 0]);
    }

    fn check_last(before: &[u8], close: &[u8]) {
        let all = [before, close].concat();
        for cut in 0..all.len() {
            let (mut incoming, mut found) = (Incoming::default(), Vec::new());
            let pieces = [&all[..cut], &all[cut..]].map(Bytes::copy_from_slice);
            incoming.take(3, vec![Bytes::copy_from_slice(close)], &mut found);
            assert_eq!(found.concat(), close, "on another stream it is none");
            incoming.take(0, pieces.to_vec(), &mut found);
            assert_eq!(found.concat(), [close, before].concat(), "cut at {cut}");
            assert!(incoming.has_last());
            incoming.take_last(&mut found);
            incoming.take(0, vec![Bytes::from_static(&[9])], &mut found);
            assert_eq!(found.concat(), [close, &all, &[9]].concat());
            assert!(!incoming.has_last() && incoming.kept_bytes() == 0);
        }
    }

    #[test]
    fn bare_messages_pass_as_they_come() {
        let mut incoming = Incoming::default();
        let mut found = Vec::new();
        incoming.take(0, vec![Bytes::from_static(&[9, 0, 0])], &mut found);
        assert!(found.is_empty());
        incoming.take_bare(vec![Bytes::from_static(&[0, 7])], &mut found);
        assert_eq!(found.concat(), [9, 0, 0, 0, 7]);
    }
}
