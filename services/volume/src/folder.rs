// SPDX-License-Identifier: MIT OR Apache-2.0

//! Folders on the disk.

use std::io;
use std::path::Path;

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
