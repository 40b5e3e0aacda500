// SPDX-License-Identifier: MIT OR Apache-2.0
//! Allotment of a segment's bytes. The lists of free ranges are in private memory.

use std::collections::BTreeMap;

/// Loans begin at a multiple of this number of bytes, here and in the memory of their receivers.
pub const ALIGNMENT: usize = 64;

/// Free ranges of a segment.
#[derive(Debug)]
pub(crate) struct Space {
    /// Length of each free range, by its offset. No two ranges touch.
    free: BTreeMap<usize, usize>,
}

impl Space {
    /// Creates the space of `len` free bytes.
    pub(crate) fn new(len: usize) -> Space {
        Space {
            free: BTreeMap::from([(0, len - len % ALIGNMENT)]),
        }
    }

    /// Returns the bytes that a buffer of `len` takes; `None` for a length that no segment has.
    pub(crate) fn rounded(len: usize) -> Option<usize> {
        len.max(1).checked_next_multiple_of(ALIGNMENT)
    }

    /// Takes the first free range of `size` bytes, a [rounded](Space::rounded) size.
    pub(crate) fn take(&mut self, size: usize) -> Option<usize> {
        let (&at, &len) = self.free.iter().find(|(_, len)| **len >= size)?;
        self.free.remove(&at);
        if len > size {
            self.free.insert(at + size, len - size);
        }
        Some(at)
    }

    /// Returns a range that was taken.
    pub(crate) fn give(&mut self, mut at: usize, mut size: usize) {
        if let Some(behind) = self.free.remove(&(at + size)) {
            size += behind;
        }
        if let Some((&before, &len)) = self.free.range(..at).next_back()
            && before + len == at
        {
            at = before;
            size += len;
        }
        self.free.insert(at, size);
    }

    /// Returns the number of free bytes.
    pub(crate) fn free_bytes(&self) -> usize {
        self.free.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_apart_and_join_again() {
        let mut space = Space::new(1000);
        assert_eq!(space.free_bytes(), 960);
        let mut taken = Vec::new();
        while let Some(at) = space.take(128) {
            taken.push(at);
        }
        assert_eq!(taken, [0, 128, 256, 384, 512, 640, 768]);
        for at in [128, 640, 384, 0, 768, 256, 512] {
            space.give(at, 128);
        }
        assert_eq!(space.free.iter().collect::<Vec<_>>(), [(&0, &960)]);
        assert_eq!(space.take(1024), None);
    }
}
