// SPDX-License-Identifier: MIT OR Apache-2.0

//! Volume `fs`: a file for each key, below one folder for each storage.
//!
//! The folder `.zonda` in it has what a file cannot hold (times, encodings, deleted keys), in a
//! database. A file whose time or length differs from what the database has was changed by hand: it
//! is served with its content, the time of the file, and the encoding that its name tells.

mod names;
mod store;
mod walk;

use std::path::PathBuf;

use crate::{Durability, OpenError, Options, Store, Volume};

/// Options of a storage.
const OPTIONS: [&str; 5] = [
    "dir",
    "read_only",
    "on_closure",
    "follow_links",
    "durability",
];

/// Environment variable of the folder that relative folders are in.
const ROOT: &str = "ZONDA_STORAGE_ROOT";

/// Folder of the database, in the folder of a storage.
const DATABASE: &str = ".zonda";

/// The volume `fs`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fs;

/// Fate of the files when a storage is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnClosure {
    Keep,
    Delete,
}

/// Options of a storage, read.
struct Place {
    folder: PathBuf,
    read_only: bool,
    follow_links: bool,
    on_closure: OnClosure,
    durability: Durability,
}

impl Place {
    fn of(options: &Options) -> Result<Place, OpenError> {
        options.allow(&OPTIONS)?;
        let folder = options.text("dir")?.filter(|dir| !dir.is_empty());
        let expected = "the folder of the files, such as \"data/files\"";
        let folder = folder.ok_or_else(|| options.refusal("dir", expected))?;
        let root = std::env::var_os(ROOT).map_or_else(PathBuf::new, PathBuf::from);
        let words = [
            ("do_nothing", OnClosure::Keep),
            ("delete_all", OnClosure::Delete),
        ];
        let place = Place {
            folder: root.join(folder),
            read_only: options.flag("read_only", false)?,
            follow_links: options.flag("follow_links", false)?,
            on_closure: options.choice("on_closure", &words, OnClosure::Keep)?,
            durability: options.durability()?,
        };
        match (place.read_only, place.on_closure) {
            (true, OnClosure::Delete) => {
                let expected = "\"do_nothing\", as the storage is read-only";
                Err(options.refusal("on_closure", expected))
            }
            _ => Ok(place),
        }
    }
}

impl Volume for Fs {
    fn name(&self) -> &'static str {
        "fs"
    }

    fn check(&self, options: &Options) -> Result<(), OpenError> {
        Place::of(options).map(|_| ())
    }

    fn open(&self, options: &Options) -> Result<Box<dyn Store>, OpenError> {
        let place = Place::of(options)?;
        Ok(Box::new(store::Files::open(place)?))
    }
}
