// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bytes that a link with an encoding has read from its socket and not decoded yet.

use std::io::{self, Read};

use zonda_runtime::{LinkRead, RxBuf};

/// Maximum bytes of one read of the socket, and its size while a link brings little.
const READ_BYTES_MAX: usize = 64 * 1024;
const READ_BYTES_MIN: usize = 4 * 1024;

/// Size below which a read is a small one. After several of them in a row the buffer is small
/// again: large messages have a small read between them, which brings their last bytes.
const SMALL_BYTES: usize = READ_BYTES_MIN / 8;
const SMALL_READS_MAX: u8 = 8;

/// Bytes from the socket that are not processed yet.
#[derive(Debug, Default)]
pub(super) struct Raw {
    bytes: RxBuf,
    taken: usize,
    /// Number of small reads in a row.
    small: u8,
}

impl Raw {
    /// Returns the unprocessed bytes.
    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.filled().get(self.taken..).unwrap_or(&[])
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// Removes the first `count` bytes, which are processed.
    pub(super) fn take(&mut self, count: usize) {
        self.taken += count;
    }

    /// Returns the size of the buffer that [`Raw::fill`] reads into next: large once reads fill it,
    /// small again once little comes.
    pub(super) fn next_capacity(&self) -> usize {
        let (bytes, had) = (self.bytes.capacity(), self.bytes.filled().len());
        match had {
            _ if bytes == 0 => READ_BYTES_MIN,
            _ if had == bytes => (bytes * 4).min(READ_BYTES_MAX),
            _ if self.small >= SMALL_READS_MAX => READ_BYTES_MIN,
            _ => bytes,
        }
    }

    /// Reads once from the socket, behind the unprocessed bytes. `Ok(0)` is the end.
    ///
    /// # Errors
    /// The errors of the socket; [`io::ErrorKind::InvalidData`] when the unprocessed bytes leave no room.
    pub(super) async fn fill(&mut self, link: &mut impl LinkRead) -> io::Result<usize> {
        // Prepare a buffer of the right size with the unprocessed bytes in front.
        let wanted = self.next_capacity();
        let mut buffer = match wanted == self.bytes.capacity() {
            true => {
                let mut buffer = self.bytes.take();
                buffer.discard_front(self.taken);
                buffer
            }
            false => {
                let mut buffer = RxBuf::new(wanted);
                let rest = self.rest();
                buffer.spare_mut()[..rest.len()].copy_from_slice(rest);
                buffer.advance(rest.len());
                buffer
            }
        };
        self.taken = 0;
        // The unprocessed bytes leave no room.
        if buffer.spare_mut().is_empty() {
            self.bytes = buffer;
            return Err(io::ErrorKind::InvalidData.into());
        }
        // Read once, and count small reads.
        let (result, buffer) = link.read(buffer).await;
        self.small = match buffer.filled().len() < SMALL_BYTES {
            true => self.small.saturating_add(1),
            false => 0,
        };
        self.bytes = buffer;
        result
    }
}

impl Read for Raw {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let rest = self.rest();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.take(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Socket whose reads bring so many bytes, or as many as there is room for.
    struct Given(Vec<usize>);

    impl LinkRead for Given {
        async fn read(&mut self, mut buf: RxBuf) -> (io::Result<usize>, RxBuf) {
            let count = self.0.remove(0).min(buf.spare_mut().len());
            buf.advance(count);
            (Ok(count), buf)
        }
    }

    /// Returns the sizes of the buffers for reads of these lengths, each processed at once.
    fn capacities(reads: Vec<usize>) -> Vec<usize> {
        let (count, mut given) = (reads.len(), Given(reads));
        let mut raw = Raw::default();
        let mut fill = |_| {
            let capacity = raw.next_capacity();
            let read = zonda_runtime::block_on(raw.fill(&mut given));
            Raw::take(&mut raw, read.expect("bytes"));
            capacity
        };
        (0..count).map(&mut fill).collect()
    }

    #[test]
    fn one_small_read_between_large_ones_leaves_the_buffer_large() {
        let large = READ_BYTES_MAX;
        let read = capacities(vec![large, large, large, 10, large, 10, large]);
        assert_eq!(read[..2], [READ_BYTES_MIN, 4 * READ_BYTES_MIN]);
        assert_eq!(read[2..], [large; 5]);
    }

    #[test]
    fn small_reads_alone_make_it_small_again() {
        let mut reads = vec![READ_BYTES_MAX; 3];
        reads.extend([10; SMALL_READS_MAX as usize + 1]);
        let read = capacities(reads);
        assert_eq!(read[read.len() - 2], READ_BYTES_MAX);
        assert_eq!(read[read.len() - 1], READ_BYTES_MIN);
    }
}
