// SPDX-License-Identifier: MIT OR Apache-2.0
//! The payload of a vectored write: an owned list of byte slices, and the position up to which the
//! socket took them.

use std::io::IoSlice;

use crate::RxBuf;

/// The maximum number of slices per system call.
pub const SLICES_PER_WRITE: usize = 64;

/// An owned sequence of byte slices. A write takes it whole and returns it at its end.
///
/// A write calls `segment(i)` for `i < count()` only, possibly several times; `segment` must return
/// the same bytes each time until the value is returned. Empty segments are allowed.
pub trait Segments: Send + 'static {
    /// Returns the number of segments.
    fn count(&self) -> usize;
    /// Returns the bytes of one segment.
    fn segment(&self, index: usize) -> &[u8];
}

impl Segments for RxBuf {
    fn count(&self) -> usize {
        1
    }
    fn segment(&self, _index: usize) -> &[u8] {
        self.filled()
    }
}

impl Segments for &'static [u8] {
    fn count(&self) -> usize {
        1
    }
    fn segment(&self, _index: usize) -> &[u8] {
        self
    }
}

impl<T: AsRef<[u8]> + Send + 'static> Segments for Vec<T> {
    fn count(&self) -> usize {
        self.len()
    }
    fn segment(&self, index: usize) -> &[u8] {
        self[index].as_ref()
    }
}

/// The position in a [`Segments`] up to which the socket took bytes.
///
/// Backends whose writes may be partial keep one of these per call.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    index: usize,
    offset: usize,
}

impl Cursor {
    /// Returns the remaining bytes, without empty segments.
    pub(crate) fn rest<'s, S: Segments>(
        &self,
        segments: &'s S,
    ) -> impl Iterator<Item = &'s [u8]> + use<'s, S> {
        let (first, mut offset) = (self.index, self.offset);
        (first..segments.count())
            .map(move |index| &segments.segment(index)[std::mem::take(&mut offset)..])
            .filter(|rest| !rest.is_empty())
    }

    /// Fills `slices` with the remaining bytes, without empty segments; returns the number of
    /// filled slices, 0 if all bytes are taken.
    pub fn gather<'s, S: Segments>(&self, segments: &'s S, slices: &mut [IoSlice<'s>]) -> usize {
        let mut used = 0;
        for (slice, rest) in slices.iter_mut().zip(self.rest(segments)) {
            *slice = IoSlice::new(rest);
            used += 1;
        }
        used
    }

    /// Advances by `taken` bytes, and past empty segments.
    pub fn advance<S: Segments>(&mut self, segments: &S, mut taken: usize) {
        while self.index < segments.count() {
            let left = segments.segment(self.index).len() - self.offset;
            if taken < left {
                self.offset += taken;
                return;
            }
            taken -= left;
            self.index += 1;
            self.offset = 0;
        }
        assert!(
            taken == 0,
            "the socket took {taken} bytes more than it was given"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends through a writer that takes `step` bytes at a time, `width` slices at once.
    fn send(parts: Vec<Vec<u8>>, step: usize, width: usize) -> Vec<u8> {
        let (mut cursor, mut out) = (Cursor::default(), Vec::new());
        loop {
            let mut slices = vec![IoSlice::new(&[]); width];
            let used = cursor.gather(&parts, &mut slices);
            if used == 0 {
                return out;
            }
            let all: Vec<u8> = slices[..used]
                .iter()
                .flat_map(|s| s.iter().copied())
                .collect();
            let taken = all.len().min(step);
            out.extend_from_slice(&all[..taken]);
            cursor.advance(&parts, taken);
        }
    }

    #[test]
    fn every_step_and_width_delivers_the_same_bytes() {
        let parts: Vec<Vec<u8>> = (0..40u8).map(|i| vec![i; usize::from(i) % 7]).collect();
        let whole: Vec<u8> = parts.concat();
        for step in [1, 2, 3, 7, 64, 1000] {
            for width in [1, 2, 5, 64] {
                assert_eq!(
                    send(parts.clone(), step, width),
                    whole,
                    "step {step}, width {width}"
                );
            }
        }
        assert_eq!(send(vec![], 1, 4), b"");
        assert_eq!(send(vec![vec![], vec![]], 1, 4), b"");
    }
}
