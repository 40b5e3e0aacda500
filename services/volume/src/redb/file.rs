// SPDX-License-Identifier: MIT OR Apache-2.0

//! Opening the file of a database, and reading one that must not be changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use redb::{Builder, CompactionError, Database, DatabaseError, StorageBackend, StorageError};

use super::shared::SharedFile;
use crate::{OpenError, folder};

/// First bytes of a database.
const MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";

/// Memory for pages of one database.
const CACHE_BYTES: usize = 16 << 20;

/// Opens a database; an absent one is created if `creates`.
pub fn open(file: &Path, creates: bool) -> Result<Database, OpenError> {
    match begins_well(file) {
        Ok(true) => {}
        Ok(false) => return Err(damaged(file, "it does not begin as a database".to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound && creates => create(file)?,
        Err(error) => return Err(folder::refused(file, &error)),
    }
    let path = file.to_owned();
    guarded(file, move || builder().open(path))
}

/// Creates a database under another name first, so that a crash leaves none or a whole one.
fn create(file: &Path) -> Result<(), OpenError> {
    let new = file.with_extension("redb.new");
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(folder::refused(&new, &error));
        }
        _ => {}
    }
    let path = new.clone();
    drop(guarded(&new, move || builder().create(path))?);
    std::fs::rename(&new, file).map_err(|error| folder::refused(file, &error))?;
    let folder = file.parent().unwrap_or(file);
    folder::sync(folder).map_err(|error| folder::refused(folder, &error))
}

/// Opens a database whose file is only read. Others may read it at the same time.
pub fn open_to_read(file: &Path) -> Result<Database, OpenError> {
    match begins_well(file) {
        Ok(true) => {}
        Ok(false) => return Err(damaged(file, "it does not begin as a database".to_owned())),
        Err(error) => return Err(folder::refused(file, &error)),
    }
    let opened = File::open(file).map_err(|error| folder::refused(file, &error))?;
    guarded(file, move || {
        let pages = Untouched::new(SharedFile::lock(opened)?)?;
        builder().create_with_backend(pages)
    })
}

/// Reads all pages of a database, and compares them with their check sums.
pub fn verify(file: &Path, mut database: Database) -> Result<Database, OpenError> {
    let fault = "its pages do not have their check sums";
    guarded(file, move || match database.check_integrity()? {
        true => Ok(database),
        false => Err(StorageError::Corrupted(fault.to_owned()).into()),
    })
}

/// Moves the pages of a database to the front of its file, and cuts the file.
pub fn compact(file: &Path, mut database: Database) -> Result<Database, OpenError> {
    guarded(file, move || {
        database.compact().map_err(|error| match error {
            CompactionError::Storage(error) => error,
            error => StorageError::Io(io::Error::other(error.to_string())),
        })?;
        Ok(database)
    })
}

fn builder() -> Builder {
    let mut builder = Database::builder();
    // The form that versions 2.6 to 4 of the library read.
    builder.create_with_file_format_v3(true);
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Calls the library on a thread of its own, as it may panic on a damaged file.
fn guarded(
    file: &Path,
    work: impl FnOnce() -> Result<Database, DatabaseError> + Send + 'static,
) -> Result<Database, OpenError> {
    let thread = std::thread::Builder::new().name("zonda-redb".into());
    let thread = thread
        .spawn(work)
        .map_err(|error| folder::refused(file, &error))?;
    let error = match thread.join() {
        Ok(Ok(database)) => return Ok(database),
        Ok(Err(error)) => error,
        Err(_) => return Err(damaged(file, "its pages contradict each other".to_owned())),
    };
    Err(match error {
        DatabaseError::DatabaseAlreadyOpen => OpenError::InUse {
            place: file.display().to_string(),
        },
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() != io::ErrorKind::InvalidData
                && error.kind() != io::ErrorKind::UnexpectedEof =>
        {
            folder::refused(file, &error)
        }
        error => damaged(file, error.to_string()),
    })
}

/// Returns false if a file has other bytes at its start than a database.
fn begins_well(file: &Path) -> io::Result<bool> {
    let mut start = [0; MAGIC.len()];
    match File::open(file)?.read_exact(&mut start) {
        Ok(()) => Ok(start == MAGIC),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn damaged(file: &Path, reason: String) -> OpenError {
    OpenError::Damaged {
        place: file.display().to_string(),
        reason,
    }
}

/// A file of which a database sees its own changes, and the disk none.
#[derive(Debug)]
struct Untouched(Mutex<Overlay>);

#[derive(Debug)]
struct Overlay {
    file: SharedFile,
    /// Length of the file on the disk, and for the database.
    on_disk: u64,
    length: u64,
    /// Written pieces by their offset; they do not overlap.
    written: BTreeMap<u64, Vec<u8>>,
}

impl Untouched {
    fn new(file: SharedFile) -> io::Result<Untouched> {
        let on_disk = file.len()?;
        Ok(Untouched(Mutex::new(Overlay {
            file,
            on_disk,
            length: on_disk,
            written: BTreeMap::new(),
        })))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Overlay) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Overlay {
    fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let from_disk = self.on_disk.saturating_sub(offset).min(length as u64);
        let from_disk = usize::try_from(from_disk).unwrap_or(0);
        let mut bytes = self.file.read(offset, from_disk)?;
        bytes.resize(length, 0);
        for (at, piece) in self.written.range(..offset + length as u64) {
            let skipped = usize::try_from(offset.saturating_sub(*at)).unwrap_or(usize::MAX);
            let start = usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX);
            let piece = piece.get(skipped..).unwrap_or_default();
            let room = bytes.get_mut(start..).unwrap_or_default();
            for (byte, new) in room.iter_mut().zip(piece) {
                *byte = *new;
            }
        }
        Ok(bytes)
    }
}

impl StorageBackend for Untouched {
    fn len(&self) -> io::Result<u64> {
        Ok(self.with(|overlay| overlay.length))
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.with(|overlay| overlay.read(offset, len))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|overlay| {
            overlay.length = len;
            overlay.on_disk = overlay.on_disk.min(len);
        });
        Ok(())
    }

    fn sync_data(&self, _eventual: bool) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.with(|overlay| {
            // Pieces that meet the new one become a part of it.
            let end = offset + data.len() as u64;
            let meets = |(at, piece): &(&u64, &Vec<u8>)| **at + piece.len() as u64 > offset;
            let met = overlay.written.range(..end).filter(meets);
            let met: Vec<u64> = met.map(|(at, _)| *at).collect();
            let first = met.first().map_or(offset, |at| offset.min(*at));
            let ends = met
                .iter()
                .filter_map(|at| Some(at + overlay.written.get(at)?.len() as u64));
            let last = ends.max().map_or(end, |met| met.max(end));
            let length = usize::try_from(last - first).unwrap_or(0);
            let mut piece = overlay.read(first, length)?;
            let start = usize::try_from(offset - first).unwrap_or(usize::MAX);
            let room = piece.get_mut(start..).unwrap_or_default();
            for (byte, new) in room.iter_mut().zip(data) {
                *byte = *new;
            }
            for at in met {
                overlay.written.remove(&at);
            }
            overlay.written.insert(first, piece);
            Ok(())
        })
    }
}
