// SPDX-License-Identifier: MIT OR Apache-2.0
//! Batches on their way into the socket, with the place where a partial write stopped.

use std::collections::VecDeque;
#[cfg(target_os = "linux")]
use std::io::IoSlice;

use zonda_runtime::Segments;

#[cfg(target_os = "linux")]
use crate::framing::PREFIX_BYTES;
use crate::protocol::tx::Batch;

use super::{
    spent::SLICES_MAX,
    tally::{Tally, lane_index},
    writer::Buffers,
};

/// Maximum number of batches taken at once, so that a more urgent message waits for no more than
/// these.
const BATCHES_MAX: usize = SLICES_MAX / 2;

/// Maximum bytes taken at once, for the same reason.
const BYTES_MAX: usize = 256 * 1024;

/// Batches in the order in which they leave, the first of them perhaps partly written.
#[derive(Debug, Default)]
pub(crate) struct Transmit {
    batches: VecDeque<Batch>,
    bytes: usize,
    /// Bytes of the first batch that the socket has taken.
    written: usize,
}

impl Transmit {
    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Rewinds to the start of the first batch: the socket that took a part of it is gone.
    pub(crate) fn rewind(&mut self) {
        self.bytes += self.written;
        self.written = 0;
    }

    /// Returns the lane of the last batch, the least urgent one, where each priority has a lane.
    pub(super) fn last_lane(&self) -> u8 {
        let last = self.batches.back();
        last.map_or(0, |batch| batch.priority() as u8)
    }

    /// Returns the number of batches.
    pub(crate) fn len(&self) -> usize {
        self.batches.len()
    }

    /// Changes each batch from the `first` on by `pack`. None of them is partly written.
    pub(crate) fn pack(&mut self, first: usize, mut pack: impl FnMut(&mut Batch)) {
        for batch in self.batches.iter_mut().skip(first) {
            self.bytes -= batch.wire_len();
            pack(batch);
            self.bytes += batch.wire_len();
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.batches.len() >= BATCHES_MAX || self.bytes >= BYTES_MAX
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of batches under way.
    #[cfg(test)]
    pub(super) fn batches(&self) -> usize {
        self.batches.len()
    }

    pub(crate) fn push(&mut self, batch: Batch) {
        self.bytes += batch.wire_len();
        self.batches.push_back(batch);
    }

    /// Removes the last batch, if the socket has taken no byte of it.
    pub(super) fn take_unwritten(&mut self) -> Option<Batch> {
        if self.batches.len() == 1 && self.written > 0 {
            return None;
        }
        let batch = self.batches.pop_back()?;
        self.bytes -= batch.wire_len();
        Some(batch)
    }

    /// Returns, for bare messages behind their lengths, the number of the last one that the socket
    /// has as a whole, if the first batch is partly written. It may be less than the known number.
    pub(super) fn last_whole_message(&self) -> Option<u64> {
        let first = self.batches.front().filter(|_| self.written > 0)?;
        let (mut at, mut unsent) = (0, 0);
        while let Some(length) = first.head().get(at..).and_then(|rest| rest.first_chunk()) {
            at += length.len() + u32::from_le_bytes(*length) as usize;
            unsent += u64::from(at > self.written);
        }
        Some(first.last_message().saturating_sub(unsent))
    }

    /// Notes that the socket took `count` more bytes: returns the buffers of written batches to
    /// `buffers`, and counts their content in `tallies`.
    pub(super) fn advance(&mut self, mut count: usize, buffers: &mut Buffers, tallies: &[Tally]) {
        while let Some(first) = self.batches.front() {
            let left = first.wire_len() - self.written;
            if count < left {
                self.written += count;
                self.bytes -= count;
                return;
            }
            count -= left;
            self.bytes -= left;
            self.written = 0;
            let lane = lane_index(tallies.len(), first.priority());
            if let Some(tally) = tallies.get(lane) {
                tally.departed(first);
            }
            if let Some(batch) = self.batches.pop_front() {
                buffers.reclaim(batch);
            }
        }
    }

    /// Fills `into` with the unwritten bytes for one vectored write; returns the number of slices.
    #[cfg(target_os = "linux")]
    pub(crate) fn slices<'a>(&'a self, into: &mut [IoSlice<'a>]) -> usize {
        let mut count = 0;
        let mut put = |bytes: &'a [u8]| {
            if let (false, Some(slot)) = (bytes.is_empty(), into.get_mut(count)) {
                *slot = IoSlice::new(bytes);
                count += 1;
            }
        };
        let mut skip = self.written;
        for batch in &self.batches {
            let head = batch.head();
            put(head.get(skip..).unwrap_or(&[]));
            if let Some(tail) = batch.tail() {
                let skip = skip.saturating_sub(head.len());
                put(tail.as_slice().get(skip..).unwrap_or(&[]));
            }
            skip = 0;
        }
        count
    }

    /// Returns a batch without its length, in two pieces. No batch is partly written where batches
    /// are datagrams.
    #[cfg(target_os = "linux")]
    pub(crate) fn datagram(&self, index: usize) -> [&[u8]; 2] {
        let Some(batch) = self.batches.get(index) else {
            return [&[], &[]];
        };
        let head = batch.head().get(PREFIX_BYTES..).unwrap_or(&[]);
        [head, batch.tail().map_or(&[][..], |tail| tail.as_slice())]
    }

    /// Returns the unwritten bytes if they are one piece.
    #[cfg(target_os = "linux")]
    pub(crate) fn single(&self) -> Option<&[u8]> {
        match (self.batches.len(), self.batches.front()) {
            (1, Some(batch)) if batch.tail().is_none() => batch.head().get(self.written..),
            _ => None,
        }
    }
}

impl Segments for Transmit {
    fn count(&self) -> usize {
        self.batches.len() * 2
    }

    fn segment(&self, index: usize) -> &[u8] {
        let Some(batch) = self.batches.get(index / 2) else {
            return &[];
        };
        let skip = if index < 2 { self.written } else { 0 };
        let head = batch.head();
        if index.is_multiple_of(2) {
            head.get(skip..).unwrap_or(&[])
        } else {
            let tail = batch.tail().map_or(&[][..], |slice| slice.as_slice());
            tail.get(skip.saturating_sub(head.len())..).unwrap_or(&[])
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use zonda_codec::ZSlice;
    use zonda_codec::{Encode, EncodeError, Priority, Reliability, Writer};

    use super::*;
    use crate::protocol::{
        options::Framing,
        tx::{Lane, LaneConfig, Outgoing, Tail},
    };

    struct Head;

    impl Encode for Head {
        fn encode(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
            writer.bytes(&[7; 9])
        }
    }

    /// The slices are the segments wherever a write has stopped.
    #[test]
    fn slices_are_the_segments() {
        let mut lane = Lane::new(LaneConfig {
            priority: Priority::Data,
            batch_size: 5000,
            sn_mask: 0x7f,
            initial_sn: 0,
            queue_bytes_max: 1 << 20,
            framing: Framing::Plain,
            share_bytes_min: crate::protocol::tx::SHARE_BYTES_MIN,
        });
        let payload = ZSlice::from((0..=255).cycle().take(10_000).collect::<Vec<u8>>());
        for tail in [Tail::NONE, Tail::Shared(&payload), Tail::NONE] {
            let message = Outgoing {
                reliability: Reliability::Reliable,
                head: &Head,
                payload: tail,
            };
            lane.push(&message).expect("it has a wire form");
        }
        let mut transmit = Transmit::default();
        while let Some(batch) = lane.pop(&mut Vec::new()) {
            transmit.push(batch);
        }
        assert!(transmit.batches() > 3);
        let first = transmit.segment(0).len() + transmit.segment(1).len();
        for written in 0..first {
            transmit.written = written;
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let count = transmit.slices(&mut slices);
            let segments = (0..transmit.count()).map(|index| transmit.segment(index));
            let segments: Vec<&[u8]> = segments.filter(|bytes| !bytes.is_empty()).collect();
            let slices: Vec<&[u8]> = slices[..count].iter().map(|slice| &**slice).collect();
            assert_eq!(slices, segments, "after {written} bytes");
        }
    }
}
