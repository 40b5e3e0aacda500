// SPDX-License-Identifier: MIT OR Apache-2.0
//! The owned receive buffer that a read takes and returns.
//!
//! One shape serves readiness, completion and blocking reads: the block's address does not change
//! while the handle moves, and its bytes are zeroed once on allocation, so the spare part can be
//! lent as `&mut [u8]`.

use std::fmt;

/// An owned heap block with a filled part followed by a spare part.
///
/// Moving an `RxBuf` moves a few words, never the bytes. The capacity is chosen once and never
/// grows.
#[derive(Default)]
pub struct RxBuf {
    block: Vec<u8>,
    filled: usize,
    /// End of the spare part; never beyond the block.
    end: usize,
}

impl RxBuf {
    /// Returns a buffer of `capacity` bytes, all spare. Allocates zeroed memory once.
    pub fn new(capacity: usize) -> Self {
        RxBuf {
            block: vec![0; capacity],
            filled: 0,
            end: capacity,
        }
    }

    /// Wraps the caller's own bytes: the first `filled` count as received and at most
    /// `spare` more may be. The bytes after those are not written.
    ///
    /// # Panics
    /// When `bytes` holds fewer than `filled` bytes.
    pub fn over(bytes: Vec<u8>, filled: usize, spare: usize) -> Self {
        let end = filled.saturating_add(spare).min(bytes.len());
        assert!(filled <= end, "{filled} filled of {} bytes", bytes.len());
        RxBuf {
            block: bytes,
            filled,
            end,
        }
    }

    /// Returns all bytes, and the number of filled ones.
    pub fn into_bytes(self) -> (Vec<u8>, usize) {
        (self.block, self.filled)
    }

    /// Splits the buffer into the block and its spare range.
    #[cfg(all(feature = "uring", target_os = "linux"))]
    pub(crate) fn into_parts(self) -> (Vec<u8>, std::ops::Range<usize>) {
        (self.block, self.filled..self.end)
    }

    /// Undoes [`RxBuf::into_parts`].
    #[cfg(all(feature = "uring", target_os = "linux"))]
    pub(crate) fn from_parts(block: Vec<u8>, spare: std::ops::Range<usize>) -> Self {
        let std::ops::Range { start: filled, end } = spare;
        assert!(filled <= end && end <= block.len(), "{filled}..{end}");
        RxBuf { block, filled, end }
    }

    /// Returns the bytes received so far.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        &self.block[..self.filled]
    }

    /// Returns the bytes received so far, writable.
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        &mut self.block[..self.filled]
    }

    /// Returns the spare part; always initialised, with unspecified content.
    #[inline]
    pub fn spare_mut(&mut self) -> &mut [u8] {
        &mut self.block[self.filled..self.end]
    }

    /// Counts `n` more bytes, just written at the front of the spare part, as filled.
    ///
    /// # Panics
    /// When fewer than `n` bytes are spare.
    #[inline]
    pub fn advance(&mut self, n: usize) {
        assert!(
            n <= self.end - self.filled,
            "advance by {n} past the buffer's end"
        );
        self.filled += n;
    }

    /// Marks the whole buffer as spare.
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Sets the length of the filled part.
    ///
    /// # Panics
    /// When `n` exceeds the capacity.
    #[inline]
    pub fn set_filled(&mut self, n: usize) {
        assert!(
            n <= self.end,
            "{n} bytes filled in a buffer of {}",
            self.end
        );
        self.filled = n;
    }

    /// Returns the number of bytes that may be filled.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.end
    }

    /// Discards the first `n` filled bytes and moves the rest to the front (one `copy_within`).
    ///
    /// # Panics
    /// When fewer than `n` bytes are filled.
    #[inline]
    pub fn discard_front(&mut self, n: usize) {
        assert!(
            n <= self.filled,
            "{n} bytes discarded of {} filled",
            self.filled
        );
        self.block.copy_within(n..self.filled, 0);
        self.filled -= n;
    }

    /// Takes the buffer and leaves an empty one of capacity 0, without allocating.
    #[inline]
    pub fn take(&mut self) -> RxBuf {
        std::mem::take(self)
    }
}

impl fmt::Debug for RxBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RxBuf({} of {} bytes filled)", self.filled, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::RxBuf;

    #[test]
    fn fills_discards_and_empties() {
        let mut b = RxBuf::new(8);
        assert_eq!(
            (b.capacity(), b.filled().len(), b.spare_mut().len()),
            (8, 0, 8)
        );
        b.spare_mut()[..5].copy_from_slice(b"hello");
        b.advance(5);
        assert_eq!(b.filled(), b"hello");
        b.discard_front(2);
        assert_eq!(b.filled(), b"llo");
        b.filled_mut()[0] = b'L';
        b.set_filled(1);
        assert_eq!(b.filled(), b"L");
        b.clear();
        assert_eq!((b.filled().len(), b.spare_mut().len()), (0, 8));
    }

    #[test]
    fn the_address_stays_when_the_handle_moves() {
        let mut b = RxBuf::new(64);
        let before = b.spare_mut().as_ptr();
        let mut moved = b.take();
        assert_eq!(b.capacity(), 0);
        assert_eq!(moved.spare_mut().as_ptr(), before);
    }

    #[test]
    fn lent_bytes_are_filled_no_further_than_allowed() {
        let mut b = RxBuf::over(vec![1, 2, 3, 4, 5], 1, 2);
        assert_eq!((b.capacity(), b.filled()), (3, &[1][..]));
        assert_eq!(b.spare_mut().len(), 2);
        b.spare_mut()[0] = 9;
        b.advance(1);
        assert_eq!(b.into_bytes(), (vec![1, 9, 3, 4, 5], 2));
        assert_eq!(RxBuf::over(vec![1, 2], 2, 7).spare_mut().len(), 0);
    }

    #[test]
    #[should_panic(expected = "past the buffer's end")]
    fn advancing_too_far_is_a_bug_of_the_caller() {
        RxBuf::new(2).advance(3);
    }
}
