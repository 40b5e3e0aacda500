// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stand-in for files under Miri, which maps none: memory of the process, with all accesses as to a mapped file.

use std::{
    collections::HashMap,
    ops::Range,
    ptr::NonNull,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use rustix::io;

use crate::Refusal;

/// Folder of files, which is not used.
pub(crate) const FOLDER: &str = "/dev/shm";

/// Bytes of each file, at their addresses in each mapping.
type Words = Arc<Mutex<Arc<[AtomicU64]>>>;

static FILES: Mutex<Option<HashMap<u32, Words>>> = Mutex::new(None);

/// A file that is memory.
#[derive(Debug)]
pub(crate) struct File(Words);

fn files<T>(act: impl FnOnce(&mut HashMap<u32, Words>) -> T) -> T {
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    act(files.get_or_insert_default())
}

impl File {
    /// Creates a file; an error if there is one.
    pub(crate) fn create(id: u32) -> io::Result<File> {
        files(|files| {
            if files.contains_key(&id) {
                return Err(io::Errno::EXIST);
            }
            let words: Words = Arc::new(Mutex::new(Arc::from([])));
            files.insert(id, Arc::clone(&words));
            Ok(File(words))
        })
    }

    /// Opens a file.
    pub(crate) fn open(id: u32, _writable: bool) -> io::Result<File> {
        let found = files(|files| files.get(&id).cloned());
        found.map(File).ok_or(io::Errno::NOENT)
    }

    /// Removes the file of that number.
    pub(crate) fn remove(id: u32) {
        files(|files| files.remove(&id));
    }

    /// Returns the file again.
    pub(crate) fn again(&self) -> Option<File> {
        Some(File(Arc::clone(&self.0)))
    }

    /// Succeeds.
    pub(crate) fn lock(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if the name and this user are the only ones that refer to the file.
    pub(crate) fn is_ours_alone(&self) -> bool {
        Arc::strong_count(&self.0) <= 2
    }

    /// Returns true.
    pub(crate) fn has_name(&self) -> bool {
        true
    }

    /// Succeeds.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn words(&self) -> Arc<[AtomicU64]> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of bytes twice.
    pub(crate) fn size(&self) -> io::Result<(u64, u64)> {
        let bytes = self.words().len() as u64 * 8;
        Ok((bytes, bytes))
    }

    /// Sets the number of bytes, once.
    pub(crate) fn resize(&self, len: u64) -> io::Result<()> {
        let words = (0..len.div_ceil(8)).map(|_| AtomicU64::new(0));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = words.collect();
        Ok(())
    }

    /// Returns false.
    pub(crate) fn reserve(&self, _bytes: &Range<usize>) -> io::Result<bool> {
        Ok(false)
    }

    /// Reads bytes of whole words.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let words = self.words();
        for (at, byte) in (offset as usize..).zip(bytes.iter_mut()) {
            *byte = words[at / 8].load(Relaxed).to_ne_bytes()[at % 8];
        }
        Ok(bytes.len())
    }

    /// Returns the address of the bytes, which stay where they are for as long as the second value.
    pub(crate) fn mapped(&self) -> (NonNull<u8>, Arc<[AtomicU64]>) {
        let words = self.words();
        let at = words.as_ptr().cast_mut().cast();
        (NonNull::new(at).unwrap_or(NonNull::dangling()), words)
    }
}
