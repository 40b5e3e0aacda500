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

use rustix::{fd::OwnedFd, fs, io, process};

use crate::{Refusal, map::Map};

/// Folder of the files.
const FOLDER: &str = "/dev/shm";

/// Largest segment that is mapped: offsets have 32 bits.
pub(crate) const BYTES_MAX: u64 = 1 << 32;

/// Attempts to find a number that is not taken.
const ATTEMPTS: usize = 100;

/// Unit in which the system counts the memory of a file.
const BLOCK_BYTES: u64 = 512;

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

fn path(id: u32) -> String {
    format!("{FOLDER}/{id}.zenoh")
}

/// Opens a file of that number. Follows no symbolic link, which another user may have placed there, and waits for no
/// writer of a pipe.
fn open_path(id: u32, flags: fs::OFlags) -> io::Result<OwnedFd> {
    let flags = flags | fs::OFlags::NOFOLLOW | fs::OFlags::NONBLOCK | fs::OFlags::CLOEXEC;
    fs::open(path(id), flags, fs::Mode::RUSR | fs::Mode::WUSR)
}

/// Returns a number that another process does not guess soon.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Checks that only this user has the file, and locks it; returns its size.
fn admit(fd: &OwnedFd) -> Result<u64, Refusal> {
    let stat = fs::fstat(fd)?;
    let is_file = fs::FileType::from_raw_mode(stat.st_mode) == fs::FileType::RegularFile;
    if !is_file || stat.st_uid != process::geteuid().as_raw() || stat.st_mode & 0o077 != 0 {
        return Err(Refusal::Owner);
    }
    fs::flock(fd, fs::FlockOperation::NonBlockingLockShared)?;
    Ok(u64::try_from(stat.st_size).unwrap_or(0))
}

/// Opens and locks a file of this user, and returns its size. Nothing is mapped.
pub(crate) fn open_file(id: u32, writable: bool) -> Result<(OwnedFd, u64), Refusal> {
    let flags = match writable {
        true => fs::OFlags::RDWR,
        false => fs::OFlags::RDONLY,
    };
    let fd = open_path(id, flags)?;
    let size = admit(&fd)?;
    Ok((fd, size))
}

impl Segment {
    /// Creates a segment of `len` bytes under a random number, of which `mask` are used.
    pub(crate) fn create(len: usize, mask: u32) -> io::Result<Segment> {
        let flags = fs::OFlags::RDWR | fs::OFlags::CREATE | fs::OFlags::EXCL;
        for _ in 0..ATTEMPTS {
            let id = random() as u32 & mask;
            let fd = match open_path(id, flags) {
                Ok(fd) => fd,
                Err(io::Errno::EXIST) => continue,
                Err(errno) => return Err(errno),
            };
            // A sweep of another process may be about to remove the file, or has removed it.
            let is_locked = fs::flock(&fd, fs::FlockOperation::NonBlockingLockShared).is_ok();
            if !is_locked || fs::fstat(&fd)?.st_nlink == 0 {
                continue;
            }
            let made = Segment::sized(id, fd, len);
            if made.is_err() {
                let _ = fs::unlink(path(id));
            }
            return made;
        }
        Err(io::Errno::EXIST)
    }

    fn sized(id: u32, fd: OwnedFd, len: usize) -> io::Result<Segment> {
        fs::ftruncate(&fd, len as u64)?;
        Segment::mapped(id, fd, len, true)
    }

    fn mapped(id: u32, fd: OwnedFd, len: usize, writable: bool) -> io::Result<Segment> {
        Ok(Segment {
            id,
            map: Some(Map::new(fd, len, writable)?),
            reserved: AtomicU64::new(0),
            is_lost: AtomicBool::new(false),
        })
    }

    /// Maps a segment of another process as it is now; with `len`, only one of that size.
    pub(crate) fn open(id: u32, len: Option<usize>, writable: bool) -> Result<Segment, Refusal> {
        let (fd, size) = open_file(id, writable)?;
        Segment::adopt(id, fd, size, len.map(|len| (len, writable)))
    }

    /// Maps an open file, read-only unless its size is known.
    pub(crate) fn adopt(
        id: u32,
        fd: OwnedFd,
        size: u64,
        known: Option<(usize, bool)>,
    ) -> Result<Segment, Refusal> {
        let len = usize::try_from(size).map_err(|_| Refusal::Size(size))?;
        let is_wrong = known.is_some_and(|(known, _)| known != len);
        if len == 0 || size > BYTES_MAX || is_wrong {
            return Err(Refusal::Size(size));
        }
        let writable = known.is_some_and(|(_, writable)| writable);
        Ok(Segment::mapped(id, fd, len, writable)?)
    }

    /// Has the system set memory aside for these bytes, of which none were before: a file may be larger than the memory
    /// there is, and an access to bytes without memory ends the process.
    ///
    /// # Errors
    /// There is no memory for them.
    pub(crate) fn reserve(&self, bytes: Range<usize>) -> io::Result<()> {
        let (start, len) = (bytes.start as u64, bytes.len() as u64);
        loop {
            match fs::fallocate(self.map().fd(), fs::FallocateFlags::KEEP_SIZE, start, len) {
                Ok(()) => {
                    self.reserved.fetch_add(len, Relaxed);
                    return Ok(());
                }
                Err(io::Errno::INTR) => {}
                // A file system that sets nothing aside.
                Err(io::Errno::OPNOTSUPP | io::Errno::NOSYS) => return Ok(()),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Looks at the file: true if it still has all bytes of the mapping, and the memory that was set aside. An access to
    /// bytes that it has no more ends the process.
    pub(crate) fn is_whole(&self) -> bool {
        let map = self.map();
        let reserved = self.reserved.load(Relaxed);
        let is_whole = fs::fstat(map.fd()).is_ok_and(|stat| {
            stat.st_size >= map.len() as i64 && stat.st_blocks as u64 * BLOCK_BYTES >= reserved
        });
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
        let fd = self.map.take().and_then(|map| map.fd().try_clone().ok());
        if let Some(fd) = fd {
            remove_if_last(&fd, &path(self.id));
        }
    }
}

fn remove_if_last(fd: &OwnedFd, path: &str) {
    let is_last = fs::flock(fd, fs::FlockOperation::NonBlockingLockExclusive).is_ok();
    if is_last && fs::fstat(fd).is_ok_and(|stat| stat.st_nlink > 0) {
        let _ = fs::unlink(path);
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
            && let Ok((fd, _)) = open_file(id, true)
        {
            remove_if_last(&fd, &path(id));
        }
    }
}
