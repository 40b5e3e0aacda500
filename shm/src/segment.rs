// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Segment`]: a file of shared memory, named by a number, which is removed by its last user.
//!
//! Each user of a file keeps a shared lock on it. The one that obtains the exclusive lock when it leaves is the last.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::{Duration, SystemTime},
};

use rustix::io;

use crate::{
    Refusal,
    file::{FOLDER, File},
    map::Map,
};

/// Largest segment that is mapped: offsets have 32 bits.
pub(crate) const BYTES_MAX: u64 = 1 << 32;

/// Attempts to find a number that is not taken.
const ATTEMPTS: usize = 100;

/// Age of a file that no process has locked, from which on it is removed: a younger one may be about to be locked.
const ORPHAN_AGE: Duration = Duration::from_secs(2);

/// A mapped file of shared memory.
#[derive(Debug)]
pub(crate) struct Segment {
    id: u32,
    map: Option<Map>,
    /// Bytes of it that the system has set aside.
    reserved: AtomicU64,
    is_lost: AtomicBool,
}

/// Returns a number that another process does not guess soon.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Opens and locks a file of this user, and returns its size. Nothing is mapped.
pub(crate) fn open_file(id: u32, writable: bool) -> Result<(File, u64), Refusal> {
    let file = File::open(id, writable)?;
    file.check()?;
    file.lock()?;
    let (size, _) = file.size()?;
    Ok((file, size))
}

impl Segment {
    /// Creates a segment of `len` bytes under a random number, of which `mask` are used.
    pub(crate) fn create(len: usize, mask: u32) -> io::Result<Segment> {
        for _ in 0..ATTEMPTS {
            let id = random() as u32 & mask;
            let file = match File::create(id) {
                Ok(file) => file,
                Err(io::Errno::EXIST) => continue,
                Err(errno) => return Err(errno),
            };
            // A sweep of another process may be about to remove the file, or has removed it.
            if file.lock().is_err() || !file.has_name() {
                continue;
            }
            let sized = file.resize(len as u64);
            let made = sized.and_then(|()| Segment::mapped(id, file, len, true));
            if made.is_err() {
                File::remove(id);
            }
            return made;
        }
        Err(io::Errno::EXIST)
    }

    fn mapped(id: u32, file: File, len: usize, writable: bool) -> io::Result<Segment> {
        Ok(Segment {
            id,
            map: Some(Map::new(file, len, writable)?),
            reserved: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
        })
    }

    /// Maps a segment of another process as it is now; with `len`, only one of that size.
    pub(crate) fn open(id: u32, len: Option<usize>, writable: bool) -> Result<Segment, Refusal> {
        let (file, size) = open_file(id, writable)?;
        Segment::adopt(id, file, size, len.map(|len| (len, writable)))
    }

    /// Maps an open file, read-only unless its size is known.
    pub(crate) fn adopt(
        id: u32,
        file: File,
        size: u64,
        known: Option<(usize, bool)>,
    ) -> Result<Segment, Refusal> {
        let len = usize::try_from(size).map_err(|_| Refusal::Size(size))?;
        let is_wrong = known.is_some_and(|(known, _)| known != len);
        if len == 0 || size > BYTES_MAX || is_wrong {
            return Err(Refusal::Size(size));
        }
        let writable = known.is_some_and(|(_, writable)| writable);
        Ok(Segment::mapped(id, file, len, writable)?)
    }

    /// Has the system set memory aside for these bytes, of which none were before: a file may be larger than the memory
    /// there is, and an access to bytes without memory ends the process.
    ///
    /// # Errors
    /// There is no memory for them.
    pub(crate) fn reserve(&self, bytes: Range<usize>) -> io::Result<()> {
        if self.map().file().reserve(&bytes)? {
            self.reserved.fetch_add(bytes.len() as u64, Relaxed);
        }
        Ok(())
    }

    /// Looks at the file: true if it still has all bytes of the mapping, and the memory that was set aside. An access to
    /// bytes that it has no more ends the process.
    pub(crate) fn is_whole(&self) -> bool {
        let map = self.map();
        let reserved = self.reserved.load(Relaxed);
        let size = map.file().size();
        let is_whole =
            size.is_ok_and(|(bytes, memory)| bytes >= map.len() as u64 && memory >= reserved);
        if !is_whole {
            self.is_lost.store(true, Relaxed);
        }
        is_whole
    }

    /// Returns true if the file was found without some of its bytes at some time. Costs less than a look.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Relaxed)
    }

    /// Returns the number that names the file.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Returns the mapping.
    pub(crate) fn map(&self) -> &Map {
        // Only `drop` takes it.
        self.map
            .as_ref()
            .expect("a segment is mapped until it is dropped")
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let file = self.map.take().and_then(|map| map.file().again());
        if let Some(file) = file {
            remove_if_last(&file, self.id);
        }
    }
}

fn remove_if_last(file: &File, id: u32) {
    if file.is_ours_alone() && file.has_name() {
        File::remove(id);
    }
}

/// Removes the files of this user that no process has locked: their processes were killed.
pub(crate) fn sweep() {
    let Ok(files) = std::fs::read_dir(FOLDER) else {
        return;
    };
    for file in files.flatten() {
        let file_name = file.file_name();
        let Some(id) = file_name
            .to_str()
            .and_then(|name| name.strip_suffix(".zenoh"))
        else {
            continue;
        };
        let written = file.metadata().and_then(|metadata| metadata.modified());
        let age = written.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        if !age.is_ok_and(|age| age >= ORPHAN_AGE) {
            continue;
        }
        if let Some(id) = id
            .parse()
            .ok()
            .filter(|_| id.bytes().all(|b| b.is_ascii_digit()))
            && let Ok((file, _)) = open_file(id, true)
        {
            remove_if_last(&file, id);
        }
    }
}
