// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a link sends, on its way to the streams of a connection: each batch goes on the stream of its priority, and one that has
//! no room there lets others pass.

use std::collections::VecDeque;
use std::io;
use std::task::Poll;

use bytes::Bytes;
use zonda_codec::{Reader, TransportMessage};

use super::super::carriage::Framed;
use super::terms::STREAMS;

/// Bytes that wait for streams that take none, beyond which the link waits.
const WAITING_BYTES_MAX: usize = 256 * 1024;

/// Bytes of the length in front of a batch.
pub(super) const PREFIX_BYTES: usize = 2;

/// So many bytes of a batch say what it begins with.
const HEAD_BYTES: usize = 16;

/// Writes to a stream; takes off what it wrote, and tells how many bytes that is.
pub(super) type Write<'a> = dyn FnMut(usize, &mut Bytes) -> Poll<io::Result<usize>> + 'a;

/// What a link sends.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Where the batch under way goes, and how many bytes of it are missing.
    stream: usize,
    left: usize,
    /// What the streams have not taken.
    waiting: [VecDeque<Bytes>; STREAMS],
    waiting_bytes: usize,
    /// The next batch is the last word, which has to come behind all others, whatever their stream.
    is_last: bool,
}

/// What a batch begins with says on which stream it goes, and whether it is the last one.
fn look(head: &[u8]) -> (usize, bool) {
    match TransportMessage::decode(&mut Reader::new(head)) {
        Ok(TransportMessage::Frame(frame)) => (frame.priority as usize, false),
        Ok(TransportMessage::Fragment(fragment)) => (fragment.priority as usize, false),
        Ok(TransportMessage::Close(_)) => (0, true),
        _ => (0, false),
    }
}

impl Outgoing {
    /// Gives the streams what they take of this, and keeps the rest. Tells how many bytes are dealt with: the beginning of a
    /// batch that has not come as a whole is not, and neither is the last word before [`Outgoing::end`].
    ///
    /// # Errors
    /// Those of the streams.
    pub(super) fn put(
        &mut self,
        bytes: &Bytes,
        framed: Framed,
        write: &mut Write<'_>,
    ) -> io::Result<usize> {
        if framed == Framed::Bare {
            self.left = 0;
            self.put_piece(0, bytes.clone(), write)?;
            return Ok(bytes.len());
        }
        let mut dealt = 0;
        let mut goes_on = self.left > 0 || self.begin(bytes, framed);
        while goes_on {
            let (start, stream) = (dealt, self.stream);
            // Batches that follow each other on one stream go out as one piece.
            while goes_on && self.stream == stream {
                let count = self.left.min(bytes.len() - dealt);
                dealt += count;
                self.left -= count;
                goes_on = dealt < bytes.len() && self.begin(&bytes[dealt..], framed);
            }
            self.put_piece(stream, bytes.slice(start..dealt), write)?;
        }
        Ok(dealt)
    }

    /// Whether a batch begins here that is to go out now.
    fn begin(&mut self, rest: &[u8], framed: Framed) -> bool {
        let Some((prefix, batch)) = rest.split_first_chunk::<PREFIX_BYTES>() else {
            return false;
        };
        let length = usize::from(u16::from_le_bytes(*prefix));
        let Some(head) = batch.get(..length.min(HEAD_BYTES)) else {
            return false;
        };
        let (stream, is_last) = match framed {
            Framed::Lanes => look(head),
            Framed::Batches | Framed::Bare => (0, false),
        };
        if is_last && !self.is_last {
            self.is_last = true;
            return false;
        }
        (self.stream, self.left) = (stream, PREFIX_BYTES + length);
        true
    }

    fn put_piece(
        &mut self,
        stream: usize,
        mut piece: Bytes,
        write: &mut Write<'_>,
    ) -> io::Result<()> {
        let waiting = &mut self.waiting[stream];
        while waiting.is_empty() && !piece.is_empty() {
            match write(stream, &mut piece) {
                Poll::Ready(count) => drop(count?),
                Poll::Pending => break,
            }
        }
        if !piece.is_empty() {
            self.waiting_bytes += piece.len();
            waiting.push_back(piece);
        }
        Ok(())
    }

    /// Gives the streams what they take of what waits, the most urgent first.
    ///
    /// # Errors
    /// Those of the streams.
    pub(super) fn flush(&mut self, write: &mut Write<'_>) -> io::Result<()> {
        for (stream, waiting) in self.waiting.iter_mut().enumerate() {
            while let Some(first) = waiting.front_mut() {
                match write(stream, first) {
                    Poll::Ready(count) => self.waiting_bytes -= count?,
                    Poll::Pending => break,
                }
                if first.is_empty() {
                    waiting.pop_front();
                }
            }
            if waiting.is_empty() && waiting.capacity() > 0 {
                *waiting = VecDeque::new();
            }
        }
        Ok(())
    }

    /// Bytes that the streams have not taken.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting_bytes == 0
    }

    /// Whether more may be put.
    pub(super) fn has_room(&self) -> bool {
        self.waiting_bytes < WAITING_BYTES_MAX
    }

    /// Whether the last word has come.
    pub(super) fn is_last(&self) -> bool {
        self.is_last
    }
}

#[cfg(test)]
mod tests {
    use zonda_codec::{Close, Encode, FrameHeader, Priority, Reliability};

    use super::*;

    fn batch(message: &impl Encode, more: usize) -> Vec<u8> {
        let mut content = message.to_vec().expect("it has a wire form");
        content.resize(content.len() + more, 0x77);
        let mut batch = (content.len() as u16).to_le_bytes().to_vec();
        batch.append(&mut content);
        batch
    }

    fn frame(priority: Priority, more: usize) -> Vec<u8> {
        let header = FrameHeader {
            reliability: Reliability::Reliable,
            priority,
            sn: 1 << 27,
        };
        batch(&header, more)
    }

    /// Puts all, as it comes in pieces of these lengths; what each stream got.
    fn spread(sent: &[u8], pieces: usize, framed: Framed) -> [Vec<u8>; STREAMS] {
        let mut got: [Vec<u8>; STREAMS] = Default::default();
        let mut outgoing = Outgoing::default();
        let mut rest = Vec::new();
        for piece in sent.chunks(pieces) {
            rest.extend_from_slice(piece);
            let mut write = |stream: usize, bytes: &mut Bytes| {
                // never all at once
                let part = bytes.split_to(bytes.len().div_ceil(2));
                got[stream].extend_from_slice(&part);
                Poll::Ready(Ok(part.len()))
            };
            let count = outgoing.put(&Bytes::copy_from_slice(&rest), framed, &mut write);
            let count = count.expect("it goes");
            rest.drain(..count);
        }
        assert_eq!(outgoing.is_empty(), rest.is_empty());
        got
    }

    #[test]
    fn each_batch_goes_on_the_stream_of_its_priority() {
        let batches: Vec<_> = (0..200)
            .map(|at| frame(Priority::ALL[at % 8], at * 7 % 900))
            .collect();
        let all = batches.concat();
        for pieces in [1, 3, 17, 1000, usize::MAX] {
            let got = spread(&all, pieces, Framed::Lanes);
            for (stream, got) in got.iter().enumerate() {
                let of_it = |at: &usize| Priority::ALL[at % 8] as usize == stream;
                let expected: Vec<_> = (0..200).filter(of_it).map(|at| &batches[at][..]).collect();
                assert_eq!(*got, expected.concat(), "stream {stream}");
            }
            for framed in [Framed::Batches, Framed::Bare] {
                assert_eq!(spread(&all, pieces, framed)[0], all);
            }
        }
    }

    #[test]
    fn a_stream_that_takes_nothing_lets_others_pass() {
        let mut outgoing = Outgoing::default();
        let (slow, urgent) = (
            frame(Priority::Background, 5000),
            frame(Priority::RealTime, 9),
        );
        let mut got = Vec::new();
        let sent = [&slow[..], &urgent, &slow].concat();
        let mut write = |stream: usize, bytes: &mut Bytes| match stream {
            7 => Poll::Pending,
            _ => {
                got.extend_from_slice(bytes);
                Poll::Ready(Ok(std::mem::take(bytes).len()))
            }
        };
        let count = outgoing
            .put(&Bytes::copy_from_slice(&sent), Framed::Lanes, &mut write)
            .expect("it goes");
        assert_eq!((count, &got), (sent.len(), &urgent));
        assert!(!outgoing.is_empty() && outgoing.has_room());
        let mut late = Vec::new();
        let mut write = |stream: usize, bytes: &mut Bytes| {
            assert_eq!(stream, 7);
            late.extend_from_slice(bytes);
            Poll::Ready(Ok(std::mem::take(bytes).len()))
        };
        outgoing.flush(&mut write).expect("it goes");
        assert_eq!(late, [&slow[..], &slow].concat());
        assert!(outgoing.is_empty());
    }

    #[test]
    fn the_last_word_waits_for_all_others() {
        let mut outgoing = Outgoing::default();
        let (some, close) = (
            frame(Priority::Data, 9),
            batch(
                &Close {
                    reason: 0,
                    session: false,
                },
                0,
            ),
        );
        let sent = [&some[..], &close].concat();
        let mut write = |_: usize, bytes: &mut Bytes| Poll::Ready(Ok(std::mem::take(bytes).len()));
        let count = outgoing
            .put(&Bytes::copy_from_slice(&sent), Framed::Lanes, &mut write)
            .expect("it goes");
        assert_eq!(count, some.len());
        assert!(outgoing.is_last());
        let count = outgoing
            .put(&Bytes::copy_from_slice(&close), Framed::Lanes, &mut write)
            .expect("it goes");
        assert_eq!(count, close.len());
    }
}
