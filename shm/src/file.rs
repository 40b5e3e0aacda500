// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`File`]: a file of shared memory, named by a number.

use std::ops::Range;

use rustix::{
    fd::{BorrowedFd, OwnedFd},
    fs, io, process,
};

use crate::Refusal;

/// Folder of the files.
pub(crate) const FOLDER: &str = "/dev/shm";

/// Unit in which the system counts the memory of a file.
const BLOCK_BYTES: u64 = 512;

/// A file, open.
#[derive(Debug)]
pub(crate) struct File(OwnedFd);

fn path(id: u32) -> String {
    format!("{FOLDER}/{id}.zenoh")
}

/// Opens a file of that number. Follows no symbolic link, which another user may have placed there, and waits for no
/// writer of a pipe.
fn open_path(id: u32, flags: fs::OFlags) -> io::Result<File> {
    let flags = flags | fs::OFlags::NOFOLLOW | fs::OFlags::NONBLOCK | fs::OFlags::CLOEXEC;
    fs::open(path(id), flags, fs::Mode::RUSR | fs::Mode::WUSR).map(File)
}

impl File {
    /// Creates a file; an error if there is one.
    pub(crate) fn create(id: u32) -> io::Result<File> {
        let flags = fs::OFlags::RDWR | fs::OFlags::CREATE | fs::OFlags::EXCL;
        open_path(id, flags)
    }

    /// Opens a file.
    pub(crate) fn open(id: u32, writable: bool) -> io::Result<File> {
        let flags = match writable {
            true => fs::OFlags::RDWR,
            false => fs::OFlags::RDONLY,
        };
        open_path(id, flags)
    }

    /// Removes the file of that number.
    pub(crate) fn remove(id: u32) {
        let _ = fs::unlink(path(id));
    }

    /// Returns another descriptor of the file.
    pub(crate) fn again(&self) -> Option<File> {
        self.0.try_clone().ok().map(File)
    }

    /// Returns the descriptor.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.0)
    }

    /// Shares the lock of all users of the file; an error if a process has it alone.
    pub(crate) fn lock(&self) -> io::Result<()> {
        fs::flock(&self.0, fs::FlockOperation::NonBlockingLockShared)
    }

    /// Returns true if no other user has the lock.
    pub(crate) fn is_ours_alone(&self) -> bool {
        fs::flock(&self.0, fs::FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Returns true if the file has a name still.
    pub(crate) fn has_name(&self) -> bool {
        fs::fstat(&self.0).is_ok_and(|stat| stat.st_nlink > 0)
    }

    /// Checks that it is a file of this user, which no other user can open.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let stat = fs::fstat(&self.0)?;
        let is_file = fs::FileType::from_raw_mode(stat.st_mode) == fs::FileType::RegularFile;
        let is_own = stat.st_uid == process::geteuid().as_raw() && stat.st_mode & 0o077 == 0;
        (is_file && is_own).then_some(()).ok_or(Refusal::Owner)
    }

    /// Returns the bytes of the file, and those of the memory that it has.
    pub(crate) fn size(&self) -> io::Result<(u64, u64)> {
        let stat = fs::fstat(&self.0)?;
        Ok((stat.st_size as u64, stat.st_blocks as u64 * BLOCK_BYTES))
    }

    /// Sets the number of bytes.
    pub(crate) fn resize(&self, len: u64) -> io::Result<()> {
        fs::ftruncate(&self.0, len)
    }

    /// Has the system set memory aside; false if this file system sets nothing aside.
    pub(crate) fn reserve(&self, bytes: &Range<usize>) -> io::Result<bool> {
        let (start, len) = (bytes.start as u64, bytes.len() as u64);
        loop {
            match fs::fallocate(&self.0, fs::FallocateFlags::KEEP_SIZE, start, len) {
                Ok(()) => return Ok(true),
                Err(io::Errno::INTR) => {}
                Err(io::Errno::OPNOTSUPP | io::Errno::NOSYS) => return Ok(false),
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Reads bytes; 0 at the end of the file.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        io::pread(&self.0, bytes, offset)
    }
}
