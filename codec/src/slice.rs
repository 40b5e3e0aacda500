// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`ZSlice`]: a range of a shared buffer, and [`SliceBuffer`], which a type implements to be such a buffer.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Bound, Deref, RangeBounds};
use std::sync::Arc;

/// A type that can own the bytes of slices.
pub trait SliceBuffer: Any + fmt::Debug + Send + Sync {
    /// Returns the bytes. A slice keeps its range of them: an implementation that returns fewer
    /// bytes later makes the slice empty.
    fn as_slice(&self) -> &[u8];
}

impl SliceBuffer for Vec<u8> {
    #[inline]
    fn as_slice(&self) -> &[u8] {
        self
    }
}

impl SliceBuffer for Box<[u8]> {
    #[inline]
    fn as_slice(&self) -> &[u8] {
        self
    }
}

/// A range of a shared buffer. A clone counts a reference; no byte is copied.
///
/// ```
/// use zonda_codec::ZSlice;
/// let block = ZSlice::from(vec![1, 2, 3, 4]);
/// let middle = block.subslice(1..3).unwrap();
/// assert_eq!(middle.as_slice(), [2, 3]);
/// assert_eq!(middle.as_slice().as_ptr(), block[1..].as_ptr());
/// ```
#[derive(Clone)]
pub struct ZSlice {
    buffer: Arc<dyn SliceBuffer>,
    start: usize,
    end: usize,
}

impl ZSlice {
    /// Bytes `start..end` of the buffer.
    ///
    /// # Errors
    /// Returns the buffer if the range does not lie inside it.
    #[inline]
    pub fn new(
        buffer: Arc<dyn SliceBuffer>,
        start: usize,
        end: usize,
    ) -> Result<ZSlice, Arc<dyn SliceBuffer>> {
        if start > end || end > buffer.as_slice().len() {
            return Err(buffer);
        }
        Ok(ZSlice { buffer, start, end })
    }

    /// Returns an empty slice.
    pub fn empty() -> ZSlice {
        ZSlice::from(Vec::new())
    }

    /// Returns the buffer, if it is a `T`.
    #[inline]
    pub fn downcast_ref<T: SliceBuffer>(&self) -> Option<&T> {
        let buffer: &dyn Any = &*self.buffer;
        buffer.downcast_ref()
    }

    /// Returns the buffer, mutably, if it is a `T` and no other slice shares it.
    pub fn downcast_mut<T: SliceBuffer>(&mut self) -> Option<&mut T> {
        let buffer: &mut dyn Any = Arc::get_mut(&mut self.buffer)?;
        buffer.downcast_mut()
    }

    /// Returns the number of bytes.
    #[inline]
    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns true for a slice of no bytes.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        // The range was checked when the slice was made; a buffer that has shrunk since then must not be a panic.
        match self.buffer.as_slice().get(self.start..self.end) {
            Some(bytes) => bytes,
            None => shrunk(),
        }
    }

    /// Returns a part of the slice that shares its buffer; `None` if the range does not lie inside
    /// the slice.
    #[inline]
    pub fn subslice(&self, range: impl RangeBounds<usize>) -> Option<ZSlice> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.checked_add(1)?,
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.checked_add(1)?,
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.len(),
        };
        if start > end || end > self.len() {
            return None;
        }
        Some(ZSlice {
            buffer: Arc::clone(&self.buffer),
            start: self.start + start,
            end: self.start + end,
        })
    }
}

/// Returns the bytes of a slice whose buffer has shrunk: none. A separate function, so that a slice
/// that is whole costs two comparisons.
#[cold]
#[inline(never)]
fn shrunk() -> &'static [u8] {
    &[]
}

impl<T: SliceBuffer> From<Arc<T>> for ZSlice {
    /// Makes a slice of all bytes of the buffer.
    fn from(buffer: Arc<T>) -> ZSlice {
        let end = buffer.as_slice().len();
        ZSlice {
            buffer,
            start: 0,
            end,
        }
    }
}

impl<T: SliceBuffer> From<T> for ZSlice {
    /// Makes a slice of all bytes of the buffer, which it owns.
    fn from(buffer: T) -> ZSlice {
        ZSlice::from(Arc::new(buffer))
    }
}

impl Deref for ZSlice {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl AsRef<[u8]> for ZSlice {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for ZSlice {
    fn eq(&self, other: &T) -> bool {
        self.as_slice() == other.as_ref()
    }
}

impl Eq for ZSlice {}

impl Hash for ZSlice {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for ZSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x?}", self.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn ranges_inside_are_shared_and_ranges_outside_refused() {
        let whole = ZSlice::from(vec![0, 1, 2, 3, 4]);
        let part = whole.subslice(1..=3).unwrap();
        assert_eq!(part.as_slice(), [1, 2, 3]);
        assert_eq!(part.subslice(1..).unwrap().as_slice(), [2, 3]);
        assert!(part.subslice(3..).unwrap().is_empty());
        for range in [2..4, 4..4] {
            assert!(part.subslice(range).is_none());
        }
        assert!(part.subslice(..=usize::MAX).is_none());
        let upside_down = (Bound::Included(2), Bound::Excluded(1));
        assert!(part.subslice(upside_down).is_none());
        assert!(ZSlice::new(Arc::new(vec![0; 4]), 2, 5).is_err());
        assert!(ZSlice::new(Arc::new(vec![0; 4]), 3, 2).is_err());
    }

    /// A buffer whose length changes after a slice of it was made.
    #[derive(Debug)]
    struct Shrinking(Vec<u8>, AtomicUsize);

    impl SliceBuffer for Shrinking {
        fn as_slice(&self) -> &[u8] {
            &self.0[..self.1.load(Ordering::Relaxed)]
        }
    }

    #[test]
    fn a_buffer_that_shrinks_is_not_read_beyond_its_end() {
        let buffer = Arc::new(Shrinking(vec![7; 4], AtomicUsize::new(4)));
        let slice = ZSlice::from(Arc::clone(&buffer));
        assert_eq!(slice.as_slice(), [7; 4]);
        buffer.1.store(2, Ordering::Relaxed);
        assert!(slice.as_slice().is_empty());
        assert!(slice.downcast_ref::<Shrinking>().is_some());
        assert!(slice.downcast_ref::<Vec<u8>>().is_none());
    }
}
