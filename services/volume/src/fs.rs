// SPDX-License-Identifier: MIT OR Apache-2.0

//! Volume `fs`: a file for each key, below one folder for each storage.
//!
//! The folder `.zonda` in it has what a file cannot hold (times, encodings, deleted keys), in a
//! database. A file whose time or length differs from what the database has was changed by hand: it
//! is served with its content, the time of the file, and the encoding that its name tells.

mod names;
mod store;
mod walk;

use std::path::{Path, PathBuf};

use crate::{Durability, OpenError, Options, Store, Volume, folder};

/// Options of a storage.
const OPTIONS: [&str; 5] = [
    "dir",
    "read_only",
    "on_closure",
    "follow_links",
    "durability",
];

/// Folder of the database, in the folder of a storage.
const DATABASE: &str = ".zonda";

/// The volume `fs`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fs;

/// Options of a storage, read.
struct Place {
    folder: PathBuf,
    read_only: bool,
    follow_links: bool,
    /// True if a close destroys the data.
    destroys: bool,
    durability: Durability,
}

impl Place {
    fn of(options: &Options) -> Result<Place, OpenError> {
        options.allow(&OPTIONS)?;
        let expected = "the folder of the files, such as \"data/files\"";
        let read_only = options.flag("read_only", false)?;
        Ok(Place {
            folder: options.folder(expected)?,
            read_only,
            follow_links: options.flag("follow_links", false)?,
            destroys: options.destroys("delete_all", read_only)?,
            durability: options.durability()?,
        })
    }
}

impl Volume for Fs {
    fn name(&self) -> &'static str {
        "fs"
    }

    fn check(&self, options: &Options) -> Result<(), OpenError> {
        Place::of(options).map(|_| ())
    }

    fn look(&self, options: &Options) -> Result<(), OpenError> {
        let place = Place::of(options)?;
        match place.read_only {
            true => std::fs::read_dir(&place.folder)
                .map(drop)
                .map_err(|error| folder::refused(&place.folder, &error)),
            false => folder::look(&place.folder.join(DATABASE)),
        }
    }

    fn has_data_in(&self, folder: &Path) -> bool {
        folder.join(DATABASE).is_dir()
    }

    fn open(&self, options: &Options) -> Result<Box<dyn Store>, OpenError> {
        let place = Place::of(options)?;
        Ok(Box::new(store::Files::open(place)?))
    }
}
