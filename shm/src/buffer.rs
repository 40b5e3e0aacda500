// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`SharedBuffer`]: a payload in a segment.

use std::ops::Range;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::AcqRel},
};

use zonda_codec::{SliceBuffer, ZSlice, shared::Descriptor};

use crate::{
    keeper::{self, Task},
    meta::Meta,
    segment::Segment,
};

/// A use of a buffer by this process, which confirms it for as long.
#[derive(Debug)]
pub(crate) struct Use {
    meta: Arc<Meta>,
    index: u16,
    generation: u32,
}

impl Use {
    pub(crate) fn new(meta: Arc<Meta>, index: u16, generation: u32) -> Use {
        meta.begin_use(index);
        if meta.kept().is_new() {
            keeper::keep(&meta);
        }
        Use {
            meta,
            index,
            generation,
        }
    }

    /// Gives a reference back that no receiver has taken over.
    pub(crate) fn give_back(&self) {
        if self.meta.can_be_used() {
            self.meta.give_back(self.index, self.generation);
        }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.meta.end_use(self.index);
    }
}

/// A buffer whose description is on its way to a receiver, which is to find the files of both segments.
#[derive(Debug)]
pub(crate) struct InFlight {
    used: Use,
    _data: Arc<Segment>,
}

impl InFlight {
    /// Gives the reference back that no receiver has taken over.
    pub(crate) fn give_back(&self) {
        self.used.give_back();
    }
}

/// Numbers of the buffers that are held because of one neighbour, and in the whole node.
#[derive(Debug)]
pub(crate) struct Held(pub(crate) [Arc<AtomicU64>; 2]);

impl Held {
    pub(crate) fn new(counts: [Arc<AtomicU64>; 2]) -> Held {
        for count in &counts {
            count.fetch_add(1, AcqRel);
        }
        Held(counts)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for count in &self.0 {
            count.fetch_sub(1, AcqRel);
        }
    }
}

/// A payload in a segment of this process or of another one, with a reference that its last user gives back.
#[derive(Debug)]
pub struct SharedBuffer {
    used: Use,
    data: Arc<Segment>,
    offset: usize,
    len: usize,
    _held: Option<Held>,
}

impl SharedBuffer {
    /// Takes over a reference to the bytes in `range`, which are inside of `data`.
    pub(crate) fn new(
        used: Use,
        data: Arc<Segment>,
        range: Range<usize>,
        held: Option<Held>,
    ) -> SharedBuffer {
        SharedBuffer {
            used,
            data,
            offset: range.start,
            len: range.len(),
            _held: held,
        }
    }

    /// Returns the buffer of a payload, if the payload is such a buffer or the first part of it.
    #[must_use]
    pub fn of(payload: &ZSlice) -> Option<&SharedBuffer> {
        let buffer = payload.downcast_ref::<SharedBuffer>()?;
        let starts_with = buffer.as_slice().as_ptr() == payload.as_slice().as_ptr();
        (starts_with && !payload.is_empty()).then_some(buffer)
    }

    /// Returns true if another process owns the memory.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        !self.used.meta.is_own()
    }

    /// Copies the bytes without the mapping, which may have lost them; `None` if it has.
    #[must_use]
    pub fn copied(&self) -> Option<Vec<u8>> {
        self.copied_part(0, self.len)
    }

    /// Copies `len` bytes from `start` on like [`SharedBuffer::copied`]; `None` also if they are not inside.
    #[must_use]
    pub fn copied_part(&self, start: usize, len: usize) -> Option<Vec<u8>> {
        let is_inside = start.checked_add(len).is_some_and(|end| end <= self.len);
        let map = self.data.map();
        is_inside.then(|| map.read_at(self.offset + start, len))?
    }

    /// Adds a reference for a receiver, and returns the description that it gets of the first `len` bytes. `None` if the
    /// buffer is no longer valid.
    pub(crate) fn describe(&self, len: usize) -> Option<(Descriptor, InFlight)> {
        let Use {
            meta,
            index,
            generation,
        } = &self.used;
        if len == 0 || len > self.len || !meta.can_be_used() {
            return None;
        }
        if meta.generation(*index) != *generation || meta.is_invalidated(*index) {
            return None;
        }
        meta.refer(*index);
        let descriptor = Descriptor {
            len: len as u64,
            segment: meta.id(),
            index: *index,
            generation: *generation,
        };
        let flight = InFlight {
            used: Use::new(Arc::clone(meta), *index, *generation),
            _data: Arc::clone(&self.data),
        };
        Some((descriptor, flight))
    }

    /// Returns the bytes of memory that its segment has.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> u64 {
        self.data
            .map()
            .file()
            .size()
            .map_or(0, |(_, memory)| memory)
    }

    /// Returns the number of references to the buffer in all processes.
    #[must_use]
    pub fn references(&self) -> u32 {
        self.used.meta.references(self.used.index)
    }
}

impl SliceBuffer for SharedBuffer {
    fn as_slice(&self) -> &[u8] {
        let map = self.data.map();
        map.view(self.offset, self.len).unwrap_or(&[])
    }
}

impl Drop for SharedBuffer {
    fn drop(&mut self) {
        self.used.give_back();
    }
}
