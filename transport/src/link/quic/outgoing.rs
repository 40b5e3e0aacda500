// SPDX-License-Identifier: MIT OR Apache-2.0
//! Path of a link's bytes to the streams of a connection: each batch is sent on the stream of its
//! priority, and a batch without room there does not block the other streams.

use std::collections::VecDeque;
use std::io;
use std::task::Poll;

use bytes::Bytes;
use zonda_codec::{Reader, TransportMessage};

use super::super::carrier::Framed;
use super::terms::STREAMS;

/// Maximum bytes that wait for full streams before the link waits.
const WAITING_BYTES_MAX: usize = 256 * 1024;

/// Bytes of the length in front of a batch.
pub(super) const PREFIX_BYTES: usize = 2;

/// Number of bytes of a batch that contain the header of its first message.
const HEAD_BYTES: usize = 16;

/// Function that writes to a stream, removes the written bytes, and returns their number.
pub(super) type Write<'a> = dyn FnMut(usize, &mut Bytes) -> Poll<io::Result<usize>> + 'a;

/// Bytes that a link sends.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Stream of the current batch, and the bytes of it that are missing.
    stream: usize,
    left: usize,
    /// Bytes that the streams have not taken.
    waiting: [VecDeque<Bytes>; STREAMS],
    waiting_bytes: usize,
    /// Set if the next batch is the closing one, which has to follow the batches of all
    /// streams.
    is_last: bool,
}

/// Returns the stream of a batch from its first bytes, and true if it is the closing one.
fn look(head: &[u8]) -> (usize, bool) {
    match TransportMessage::decode(&mut Reader::new(head)) {
        Ok(TransportMessage::Frame(frame)) => (frame.priority as usize, false),
        Ok(TransportMessage::Fragment(fragment)) => (fragment.priority as usize, false),
        Ok(TransportMessage::Close(_)) => (0, true),
        _ => (0, false),
    }
}

impl Outgoing {
    /// Passes the streams as many of the bytes as they take, and keeps the rest. Returns the number
    /// of processed bytes: the start of an incomplete batch is not processed, and neither is the
    /// closing batch before [`Outgoing::end`].
    ///
    /// # Errors
    /// The errors of the streams.
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
            // Consecutive batches of one stream are sent as one piece.
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

    /// Returns true if a batch begins here that is to be sent now.
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

    /// Passes the streams as many of the queued bytes as they take, the most urgent first.
    ///
    /// # Errors
    /// The errors of the streams.
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

    /// Returns the bytes that the streams have not taken.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Returns true if no bytes wait.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting_bytes == 0
    }

    /// Returns true if more bytes may be put.
    pub(super) fn has_room(&self) -> bool {
        self.waiting_bytes < WAITING_BYTES_MAX
    }

    /// Returns true if the closing batch has arrived.
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

    /// Puts `sent` in pieces of these lengths; returns the bytes of each stream.
    fn spread(sent: &[u8], pieces: usize, framed: Framed) -> [Vec<u8>; STREAMS] {
        let mut got: [Vec<u8>; STREAMS] = Default::default();
        let mut outgoing = Outgoing::default();
        let mut rest = Vec::new();
        for piece in sent.chunks(pieces) {
            rest.extend_from_slice(piece);
            let mut write = |stream: usize, bytes: &mut Bytes| {
                // The stream takes a part at a time, never all.
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
