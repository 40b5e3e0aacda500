// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of named pipes: their names, their permissions, and their removal.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, mkfifoat};

/// Names of the pipes of a path.
#[derive(Debug, Clone)]
pub(super) struct Names(PathBuf);

impl Names {
    pub(super) fn of(path: &Path) -> Names {
        Names(path.to_owned())
    }

    fn with(&self, end: &str) -> PathBuf {
        let mut path = self.0.as_os_str().to_owned();
        path.push(end);
        PathBuf::from(path)
    }

    /// Returns the path of the pipe of invitations.
    pub(super) fn requests(&self) -> PathBuf {
        self.with("_uplink")
    }

    /// Returns the path of the pipe that the listener reads.
    pub(super) fn up(&self, number: u32) -> PathBuf {
        self.with(&format!("_uplink{number}"))
    }

    /// Returns the path of the pipe that the opener reads.
    pub(super) fn down(&self, number: u32) -> PathBuf {
        self.with(&format!("_downlink{number}"))
    }

    /// Removes the pipes of links whose readers have crashed.
    fn clean_up(&self) {
        let Some(name) = self.0.file_name().and_then(|name| name.to_str()) else {
            return;
        };
        // List the directory of the path.
        let directory = match self.0.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let Ok(entries) = fs::read_dir(directory) else {
            return;
        };
        // Remove the pipes of links that no reader has locked.
        for entry in entries.flatten() {
            let found = entry.file_name();
            let rest = found.to_str().and_then(|found| found.strip_prefix(name));
            let number = rest.and_then(|rest| {
                let up = rest.strip_prefix("_uplink");
                up.or_else(|| rest.strip_prefix("_downlink"))
            });
            let is_of_link = number.is_some_and(|number| number.parse::<u32>().is_ok());
            if is_of_link
                && let Ok(file) = open(&entry.path(), OFlags::RDONLY)
                && lock(&file).is_ok()
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Opens a pipe without waiting for its other end. A file that is no pipe is refused.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file: File = rustix::fs::open(path, flags, Mode::empty())?.into();
    match file.metadata()?.file_type().is_fifo() {
        true => Ok(file),
        false => Err(io::ErrorKind::AlreadyExists.into()),
    }
}

fn make(path: &Path, mode: u32) -> io::Result<()> {
    Ok(mkfifoat(CWD, path, Mode::from_raw_mode(mode))?)
}

fn lock(file: &File) -> io::Result<()> {
    Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?)
}

/// Discards the bytes in a pipe.
pub(super) fn drain(mut file: &File) {
    let mut bytes = [0; 4096];
    while matches!(file.read(&mut bytes), Ok(1..)) {}
}

/// Opens a pipe to write to it.
///
/// # Errors
/// [`io::ErrorKind::ConnectionRefused`] when no process reads it.
pub(super) fn open_writer(path: &Path) -> io::Result<File> {
    let none = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let file = open(path, OFlags::WRONLY).map_err(|error| {
        // The pipe has no reader: a reader that crashed has left it.
        let is_left = error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error());
        if is_left { none() } else { error }
    })?;
    match lock(&file) {
        // The reader holds the lock as long as it runs.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(file),
        Err(error) => Err(error),
        Ok(()) => Err(none()),
    }
}

/// Pipe that this end reads. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct ReadPipe {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

impl ReadPipe {
    /// Makes a new pipe.
    pub(super) fn make(path: PathBuf, mode: u32) -> io::Result<ReadPipe> {
        make(&path, mode)?;
        // Opened only for reading, so that the end of the writer is seen.
        let opened = open(&path, OFlags::RDONLY);
        let locked = opened.and_then(|file| lock(&file).map(|()| file));
        match locked {
            Ok(file) => Ok(ReadPipe { file, path }),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    /// Returns the pipe once the other end has it open: its name is not needed any more.
    pub(super) fn into_file(self) -> io::Result<File> {
        self.file.try_clone()
    }
}

impl Drop for ReadPipe {
    fn drop(&mut self) {
        // Another process may have removed the file already.
        let _ = fs::remove_file(&self.path);
    }
}

/// Right to receive invitations at a path. Dropping it removes the pipe of invitations.
#[derive(Debug)]
pub(super) struct InvitationPipe {
    pub(super) requests: File,
    path: PathBuf,
}

impl InvitationPipe {
    /// Takes the lock of the pipe of invitations, which is made anew, and removes the files of a
    /// listener that has crashed.
    ///
    /// # Errors
    /// [`io::ErrorKind::AddrInUse`] while another listener has it.
    pub(super) fn on(names: &Names, mode: u32) -> io::Result<InvitationPipe> {
        let path = names.requests();
        loop {
            let is_new = match make(&path, mode) {
                Ok(()) => true,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                Err(error) => return Err(error),
            };
            // Opened for writing as well: the pipe does not end when the last opener closes it.
            let requests = match open(&path, OFlags::RDWR) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                result => result?,
            };
            lock(&requests).map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock => io::ErrorKind::AddrInUse.into(),
                _ => error,
            })?;
            let inode = |found: fs::Metadata| (found.dev(), found.ino());
            let is_there = fs::symlink_metadata(&path).ok().map(inode);
            if is_there != requests.metadata().ok().map(inode) {
                continue;
            }
            if !is_new {
                // The pipe has the permissions and the invitations of an earlier listener.
                fs::remove_file(&path)?;
                continue;
            }
            names.clean_up();
            return Ok(InvitationPipe { requests, path });
        }
    }
}

impl Drop for InvitationPipe {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        // The reading thread may have the pipe open for a moment.
        let _ = flock(&self.requests, FlockOperation::Unlock);
    }
}
