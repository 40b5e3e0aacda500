// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metadata segments: a header for each buffer, and a bit for each by which its users show that they still use it.
//!
//! ```text
//! 0        32768 headers: u32 references, u8 invalidated (and 3 bytes), u32 generation, u32 kind of memory,
//!          u32 data segment, u32 offset, u64 capacity
//! 1048576  u64[32768], of which 512 are used: bit i % 64 of word i / 64 belongs to header i
//! ```

use std::sync::{
    OnceLock,
    atomic::{
        AtomicU32, AtomicU64, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

use rustix::io;

use crate::{Refusal, keeper::Task, kept::Kept, map::Map, segment::Segment};

/// Number of headers of a segment.
pub(crate) const HEADERS: u16 = 32768;

/// Size of the segment.
pub(crate) const BYTES: usize = 32768 * 40;

const HEADER_BYTES: usize = 32;
/// Bytes that the system sets aside at once, at least.
const PAGE_BYTES: usize = 4096;
const HEADERS_A_PAGE: usize = PAGE_BYTES / HEADER_BYTES;
const PAGES: usize = HEADERS as usize / HEADERS_A_PAGE;
const BITS_AT: usize = 32768 * 32;

const REFERENCES: usize = 0;
const INVALIDATED: usize = 4;
const GENERATION: usize = 8;
const PROTOCOL: usize = 12;
const SEGMENT: usize = 16;
const OFFSET: usize = 20;
const CAPACITY: usize = 24;

/// Place of a buffer, as its header gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) protocol: u32,
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    pub(crate) capacity: u64,
}

/// Numbers of uses of the headers in a page.
type Uses = Box<[AtomicU32; HEADERS_A_PAGE]>;

/// A mapped metadata segment, and how often this process uses each of its buffers.
#[derive(Debug)]
pub(crate) struct Meta {
    segment: Segment,
    is_own: bool,
    /// Uses by this process, which confirms these buffers, by pages of headers.
    uses: Box<[OnceLock<Uses>]>,
    /// Number of headers up to the last one that was ever used here.
    top: AtomicUsize,
    /// A bit for each page of headers that has memory.
    pages: [AtomicU64; PAGES / 64],
    kept: Kept,
}

impl Meta {
    fn over(segment: Segment, is_own: bool) -> io::Result<Meta> {
        segment.reserve(BITS_AT..BITS_AT + usize::from(HEADERS) / 8)?;
        Ok(Meta {
            segment,
            is_own,
            uses: (0..PAGES).map(|_| OnceLock::new()).collect(),
            top: AtomicUsize::new(0),
            pages: Default::default(),
            kept: Kept::default(),
        })
    }

    /// Creates a segment of this process.
    pub(crate) fn create() -> io::Result<Meta> {
        Segment::create(BYTES, 0xffff).and_then(|segment| Meta::over(segment, true))
    }

    /// Maps a segment of another process.
    pub(crate) fn open(id: u16) -> Result<Meta, Refusal> {
        let segment = Segment::open(u32::from(id), Some(BYTES), true)?;
        Ok(Meta::over(segment, false)?)
    }

    /// Returns the number that names it.
    pub(crate) fn id(&self) -> u16 {
        self.segment.id() as u16
    }

    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    fn map(&self) -> &Map {
        self.segment.map()
    }

    /// Returns true if an access finds all bytes.
    pub(crate) fn is_whole(&self) -> bool {
        self.segment.is_whole()
    }

    /// Returns true if bytes were missing at some time.
    pub(crate) fn is_lost(&self) -> bool {
        self.segment.is_lost()
    }

    /// Returns true if an access finds all bytes: by a look at the file of another process, by the last look of the keeper
    /// at an own file.
    pub(crate) fn can_be_used(&self) -> bool {
        !self.is_lost() && (self.is_own || self.is_whole())
    }

    /// Has the system set memory aside for a header, before its first use. Files of metadata are mostly empty.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn reserve(&self, index: u16) -> io::Result<()> {
        let page = usize::from(index) / HEADERS_A_PAGE;
        let bit = 1 << (page % 64);
        let Some(pages) = self.pages.get(page / 64) else {
            return Ok(());
        };
        if pages.load(Acquire) & bit == 0 {
            let start = page * HEADERS_A_PAGE * HEADER_BYTES;
            self.segment.reserve(start..start + PAGE_BYTES)?;
            pages.fetch_or(bit, AcqRel);
        }
        Ok(())
    }

    fn word(&self, index: u16, field: usize) -> Option<&AtomicU32> {
        let offset = HEADER_BYTES * usize::from(index) + field;
        let map = self.map();
        (index < HEADERS).then(|| map.word32(offset)).flatten()
    }

    fn load(&self, index: u16, field: usize) -> u32 {
        self.word(index, field).map_or(0, |word| word.load(Acquire))
    }

    fn store(&self, index: u16, field: usize, value: u32) {
        if let Some(word) = self.word(index, field) {
            word.store(value, Release);
        }
    }

    /// Returns the number of references to a buffer.
    pub(crate) fn references(&self, index: u16) -> u32 {
        self.load(index, REFERENCES)
    }

    /// Adds a reference.
    pub(crate) fn refer(&self, index: u16) {
        if let Some(word) = self.word(index, REFERENCES) {
            word.fetch_add(1, AcqRel);
        }
    }

    /// Gives a reference back, if the buffer is of that generation and has any.
    pub(crate) fn give_back(&self, index: u16, generation: u32) {
        if self.generation(index) != generation {
            return;
        }
        if let Some(word) = self.word(index, REFERENCES) {
            let _ = word.fetch_update(AcqRel, Acquire, |count| count.checked_sub(1));
        }
    }

    /// Returns the number of payloads that the buffer had before.
    pub(crate) fn generation(&self, index: u16) -> u32 {
        self.load(index, GENERATION)
    }

    /// Returns true if the owner has given the buffer up.
    pub(crate) fn is_invalidated(&self, index: u16) -> bool {
        self.load(index, INVALIDATED).to_ne_bytes()[0] != 0
    }

    /// Gives an own buffer up: the next one of this header is of another generation.
    pub(crate) fn retire(&self, index: u16, is_lost: bool) {
        if is_lost {
            self.store(index, INVALIDATED, u32::from_ne_bytes([1, 0, 0, 0]));
        }
        if let Some(word) = self.word(index, GENERATION) {
            word.fetch_add(1, AcqRel);
        }
    }

    /// Writes the header of a new own buffer, with one reference.
    pub(crate) fn begin(&self, index: u16, place: Place) {
        self.store(index, INVALIDATED, 0);
        self.store(index, PROTOCOL, place.protocol);
        self.store(index, SEGMENT, place.segment);
        self.store(index, OFFSET, place.offset);
        let offset = HEADER_BYTES * usize::from(index) + CAPACITY;
        if let Some(word) = self.map().word64(offset) {
            word.store(place.capacity, Release);
        }
        self.store(index, REFERENCES, 1);
    }

    /// Reads the place of a buffer, once.
    pub(crate) fn place(&self, index: u16) -> Place {
        let offset = HEADER_BYTES * usize::from(index) + CAPACITY;
        let capacity = self.map().word64(offset).map(|word| word.load(Acquire));
        Place {
            protocol: self.load(index, PROTOCOL),
            segment: self.load(index, SEGMENT),
            offset: self.load(index, OFFSET),
            capacity: capacity.unwrap_or(0),
        }
    }

    /// Returns the number of uses, once there was one.
    fn uses(&self, index: u16) -> Option<&AtomicU32> {
        let index = usize::from(index);
        let page = self.uses.get(index / HEADERS_A_PAGE)?.get()?;
        page.get(index % HEADERS_A_PAGE)
    }

    /// Begins a use by this process, which confirms the buffer from now on.
    pub(crate) fn begin_use(&self, index: u16) {
        let page = self.uses.get(usize::from(index) / HEADERS_A_PAGE);
        let made = page.map(|page| page.get_or_init(|| [const { AtomicU32::new(0) }; _].into()));
        if let Some(uses) = made.and_then(|page| page.get(usize::from(index) % HEADERS_A_PAGE)) {
            uses.fetch_add(1, AcqRel);
            self.top.fetch_max(usize::from(index) + 1, Relaxed);
            self.confirm(index);
        }
    }

    /// Ends a use.
    pub(crate) fn end_use(&self, index: u16) {
        if let Some(uses) = self.uses(index) {
            uses.fetch_sub(1, AcqRel);
        }
    }

    /// Returns true while this process uses the buffer.
    pub(crate) fn is_in_use(&self, index: u16) -> bool {
        self.uses(index).is_some_and(|uses| uses.load(Acquire) > 0)
    }

    /// Returns the buffers that this process uses.
    fn in_use(&self) -> impl Iterator<Item = u16> {
        let top = self.top.load(Relaxed).min(usize::from(HEADERS)) as u16;
        (0..top).filter(|index| self.is_in_use(*index))
    }

    fn confirm(&self, index: u16) {
        if let Some((word, bit)) = self.bit(index)
            && let Some(word) = self.map().word64(word)
        {
            word.fetch_or(bit, AcqRel);
        }
    }

    /// Returns true if a process has confirmed the buffer since the last call.
    pub(crate) fn was_confirmed(&self, index: u16) -> bool {
        let word = self.bit(index);
        let word = word.and_then(|(word, bit)| Some((self.map().word64(word)?, bit)));
        word.is_some_and(|(word, bit)| word.fetch_and(!bit, AcqRel) & bit != 0)
    }

    fn bit(&self, index: u16) -> Option<(usize, u64)> {
        let word = BITS_AT + 8 * (usize::from(index) / 64);
        (index < HEADERS).then_some((word, 1 << (index % 64)))
    }
}

/// Confirms the buffers that this process uses.
impl Task for Meta {
    fn kept(&self) -> &Kept {
        &self.kept
    }

    fn work(&self, _round: u64) {
        if self.is_whole() {
            self.in_use().for_each(|index| self.confirm(index));
        }
    }

    fn has_work(&self) -> bool {
        self.in_use().next().is_some()
    }
}
