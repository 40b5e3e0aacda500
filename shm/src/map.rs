// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Map`]: a file in memory. The only place with unsafe code: each access is checked for bounds and alignment, and words
//! that processes share are atomics.

use std::{
    ptr::NonNull,
    sync::atomic::{AtomicU32, AtomicU64},
};

use rustix::io;
#[cfg(not(miri))]
use rustix::mm;

use crate::file::File;

/// A file mapped into memory as a whole.
#[derive(Debug)]
pub(crate) struct Map {
    at: NonNull<u8>,
    len: usize,
    file: File,
    writable: bool,
    #[cfg(miri)]
    _words: std::sync::Arc<[AtomicU64]>,
}

// SAFETY: the mapping belongs to no thread, and ends with the value.
unsafe impl Send for Map {}
// SAFETY: shared access is by atomics, and by slices under the contracts of `view` and `fill`.
unsafe impl Sync for Map {}

impl Map {
    /// Maps the first `len` bytes of a file.
    #[cfg(not(miri))]
    pub(crate) fn new(file: File, len: usize, writable: bool) -> io::Result<Map> {
        if len == 0 || len > isize::MAX as usize {
            return Err(io::Errno::INVAL);
        }
        let mut protection = mm::ProtFlags::READ;
        if writable {
            protection |= mm::ProtFlags::WRITE;
        }
        let flags = mm::MapFlags::SHARED | mm::MapFlags::NORESERVE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let at = unsafe { mm::mmap(std::ptr::null_mut(), len, protection, flags, file.fd(), 0)? };
        let at = NonNull::new(at.cast()).ok_or(io::Errno::NOMEM)?;
        Ok(Map {
            at,
            len,
            file,
            writable,
        })
    }

    /// Uses the memory that stands for a file.
    #[cfg(miri)]
    pub(crate) fn new(file: File, len: usize, writable: bool) -> io::Result<Map> {
        let (at, words) = file.mapped();
        (len > 0 && len <= words.len() * 8)
            .then_some(Map {
                at,
                len,
                file,
                writable,
                _words: words,
            })
            .ok_or(io::Errno::INVAL)
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Returns the address of `len` bytes that are inside and aligned.
    fn at(&self, offset: usize, len: usize, align: usize) -> Option<*mut u8> {
        let end = offset.checked_add(len)?;
        if end > self.len || !offset.is_multiple_of(align) {
            return None;
        }
        // SAFETY: `offset` is inside the mapping.
        Some(unsafe { self.at.as_ptr().add(offset) })
    }

    /// Returns a shared word of 32 bits of a writable mapping.
    pub(crate) fn word32(&self, offset: usize) -> Option<&AtomicU32> {
        let at = self.at(offset, 4, 4).filter(|_| self.writable)?;
        // SAFETY: inside, aligned and writable for as long as `self`; every process uses the word as an atomic.
        Some(unsafe { AtomicU32::from_ptr(at.cast()) })
    }

    /// Returns a shared word of 64 bits of a writable mapping.
    pub(crate) fn word64(&self, offset: usize) -> Option<&AtomicU64> {
        let at = self.at(offset, 8, 8).filter(|_| self.writable)?;
        // SAFETY: inside, aligned and writable for as long as `self`; every process uses the word as an atomic.
        Some(unsafe { AtomicU64::from_ptr(at.cast()) })
    }

    /// Returns bytes without a copy. The owner of a buffer writes it only before it tells of it; a process of the same
    /// user that breaks this rule changes the bytes under their reader.
    pub(crate) fn view(&self, offset: usize, len: usize) -> Option<&[u8]> {
        let at = self.at(offset, len, 1)?;
        // SAFETY: inside, for as long as `self`; written no more by the rule above.
        Some(unsafe { std::slice::from_raw_parts(at, len) })
    }

    /// Returns bytes to write. The caller has allotted them to one loan, of which no other process knows.
    #[allow(clippy::mut_from_ref)]
    pub(crate) fn fill(&self, offset: usize, len: usize) -> Option<&mut [u8]> {
        let at = self.at(offset, len, 1).filter(|_| self.writable)?;
        // SAFETY: inside and writable, for as long as `self`; borrowed once, as the caller has allotted them to one loan.
        Some(unsafe { std::slice::from_raw_parts_mut(at, len) })
    }

    /// Copies bytes by a system call, which fails where an access to a truncated file would end the process.
    pub(crate) fn read_at(&self, offset: usize, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        let mut done = 0;
        while done < len {
            match self
                .file
                .read_at(&mut bytes[done..], (offset + done) as u64)
            {
                Ok(0) => return None,
                Ok(count) => done += count,
                Err(io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        Some(bytes)
    }
}

#[cfg(not(miri))]
impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; nothing borrowed from it outlives `self`.
        let _ = unsafe { mm::munmap(self.at.as_ptr().cast(), self.len) };
    }
}
