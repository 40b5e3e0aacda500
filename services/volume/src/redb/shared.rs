// SPDX-License-Identifier: MIT OR Apache-2.0

//! A file of a database that is only read: several readers may have it open at once, and none
//! while a process writes it.

use std::fs::File;
use std::io;

use redb::DatabaseError;

/// A file that is only read, locked until it is dropped.
#[cfg(unix)]
#[derive(Debug)]
pub struct SharedFile(File);

#[cfg(unix)]
impl SharedFile {
    pub fn lock(file: File) -> Result<SharedFile, DatabaseError> {
        use rustix::fs::{FlockOperation, flock};

        // The library locks a file that it writes in the same way, for itself alone.
        match flock(&file, FlockOperation::NonBlockingLockShared).map_err(io::Error::from) {
            Ok(()) => Ok(SharedFile(file)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(DatabaseError::DatabaseAlreadyOpen)
            }
            Err(error) => Err(error.into()),
        }
    }

    pub fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    pub fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        use std::os::unix::fs::FileExt;

        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

/// A file that is only read, locked until it is dropped; on this system by one reader at a time.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct SharedFile(redb::backends::FileBackend);

#[cfg(not(unix))]
impl SharedFile {
    pub fn lock(file: File) -> Result<SharedFile, DatabaseError> {
        Ok(SharedFile(redb::backends::FileBackend::new(file)?))
    }

    pub fn len(&self) -> io::Result<u64> {
        redb::StorageBackend::len(&self.0)
    }

    pub fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        redb::StorageBackend::read(&self.0, offset, length)
    }
}
