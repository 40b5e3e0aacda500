// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of a matrix.

use std::fs;
use std::path::Path;

use zonda_program::Failure;

use crate::surroundings::cannot_write;

/// What names another folder.
const FLAG: &str = "--out DIR";

/// Whether files can be written to a folder, which is made.
pub fn try_out(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| cannot_write(folder, e, FLAG))?;
    let file = folder.join("rtt.html");
    let opened = fs::OpenOptions::new().create(true).append(true).open(&file);
    opened.map(|_| ()).map_err(|e| cannot_write(&file, e, FLAG))
}

/// Writes a file of the folder.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let file = folder.join(name);
    fs::write(&file, text).map_err(|e| cannot_write(&file, e, FLAG))
}
