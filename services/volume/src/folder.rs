// SPDX-License-Identifier: MIT OR Apache-2.0

//! Folders on the disk.

use std::io;
use std::path::Path;

use crate::OpenError;

/// Checks that this process may write to a folder, or could make it: that the nearest folder above it
/// that exists is one, and is writable.
///
/// # Errors
/// The error that making the folder, or a file in it, would have.
pub fn look(folder: &Path) -> Result<(), OpenError> {
    let fault = nearest_is_writable(folder).err();
    fault.map_or(Ok(()), |error| Err(refused(folder, &error)))
}

fn nearest_is_writable(folder: &Path) -> io::Result<()> {
    for above in folder.ancestors() {
        let above = match above.as_os_str().is_empty() {
            true => Path::new("."),
            false => above,
        };
        match std::fs::metadata(above) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(found) if !found.is_dir() => return Err(io::ErrorKind::NotADirectory.into()),
            Ok(_) => return is_writable(above),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_writable(folder: &Path) -> io::Result<()> {
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    rustix::fs::access(folder, access).map_err(io::Error::from)
}

/// Other systems tell only when something is written.
#[cfg(not(unix))]
fn is_writable(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the error of a file or folder that the system refuses.
pub fn refused(place: &Path, error: &io::Error) -> OpenError {
    OpenError::System {
        place: place.display().to_string(),
        reason: error.to_string(),
    }
}

/// Makes the names in a folder durable: of files that were created, renamed or removed. A folder
/// that is gone has none. Other systems than Unix do so by themselves, or offer no call for it.
///
/// # Blocking
/// Until the disk has confirmed.
pub fn sync(folder: &Path) -> io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match std::fs::File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => opened?.sync_all(),
    }
}
