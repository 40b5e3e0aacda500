// SPDX-License-Identifier: MIT OR Apache-2.0

//! Volume `redb`: an embedded database, one file in a folder for each storage.

mod file;
mod shared;
mod store;

use std::path::{Path, PathBuf};

use crate::{Durability, OpenError, Options, Store, Volume, folder};

/// Options of a storage.
const OPTIONS: [&str; 5] = ["dir", "read_only", "on_closure", "create_db", "durability"];

/// Name of the file in the folder of a storage.
const FILE: &str = "storage.redb";

/// The volume `redb`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redb;

/// Options of a storage, read.
struct Place {
    folder: PathBuf,
    read_only: bool,
    creates: bool,
    /// True if a close destroys the data.
    destroys: bool,
    durability: Durability,
}

impl Place {
    fn of(options: &Options) -> Result<Place, OpenError> {
        options.allow(&OPTIONS)?;
        let expected = "the folder of the database, such as \"data/storage\"";
        let read_only = options.flag("read_only", false)?;
        Ok(Place {
            folder: options.folder(expected)?,
            read_only,
            creates: options.flag("create_db", true)?,
            destroys: options.destroys("destroy_db", read_only)?,
            durability: options.durability()?,
        })
    }

    fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }
}

impl Volume for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn check(&self, options: &Options) -> Result<(), OpenError> {
        Place::of(options).map(|_| ())
    }

    fn look(&self, options: &Options) -> Result<(), OpenError> {
        let place = Place::of(options)?;
        match place.read_only || !place.creates {
            true => std::fs::metadata(place.file())
                .map(drop)
                .map_err(|error| folder::refused(&place.file(), &error)),
            false => folder::look(&place.folder),
        }
    }

    fn has_data_in(&self, folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    fn open(&self, options: &Options) -> Result<Box<dyn Store>, OpenError> {
        let place = Place::of(options)?;
        Ok(Box::new(store::Database::open(place)?))
    }
}
