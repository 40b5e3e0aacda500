// SPDX-License-Identifier: MIT OR Apache-2.0

//! Volume `redb`: an embedded database, one file in a folder for each storage.

mod file;
mod store;

use std::path::PathBuf;

use crate::{Durability, OpenError, Options, Store, Volume};

/// Options of a storage.
const OPTIONS: [&str; 5] = ["dir", "read_only", "on_closure", "create_db", "durability"];

/// Name of the file in the folder of a storage.
const FILE: &str = "storage.redb";

/// Environment variable of the folder that relative folders are in.
const ROOT: &str = "ZONDA_STORAGE_ROOT";

/// The volume `redb`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redb;

/// Fate of the data when a storage is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnClosure {
    Keep,
    Destroy,
}

/// Options of a storage, read.
struct Place {
    folder: PathBuf,
    read_only: bool,
    creates: bool,
    on_closure: OnClosure,
    durability: Durability,
}

impl Place {
    fn of(options: &Options) -> Result<Place, OpenError> {
        options.allow(&OPTIONS)?;
        let folder = options.text("dir")?.filter(|dir| !dir.is_empty());
        let expected = "the folder of the database, such as \"data/storage\"";
        let folder = folder.ok_or_else(|| options.refusal("dir", expected))?;
        let root = std::env::var_os(ROOT).map_or_else(PathBuf::new, PathBuf::from);
        let words = [
            ("do_nothing", OnClosure::Keep),
            ("destroy_db", OnClosure::Destroy),
        ];
        let place = Place {
            folder: root.join(folder),
            read_only: options.flag("read_only", false)?,
            creates: options.flag("create_db", true)?,
            on_closure: options.choice("on_closure", &words, OnClosure::Keep)?,
            durability: options.durability()?,
        };
        match (place.read_only, place.on_closure) {
            (true, OnClosure::Destroy) => {
                let expected = "\"do_nothing\", as the storage is read-only";
                Err(options.refusal("on_closure", expected))
            }
            _ => Ok(place),
        }
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

    fn open(&self, options: &Options) -> Result<Box<dyn Store>, OpenError> {
        let place = Place::of(options)?;
        Ok(Box::new(store::Database::open(place)?))
    }
}
