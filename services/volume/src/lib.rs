// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Volumes: places that the storages of a router keep their data in.
//!
//! A [`Volume`] opens a [`Store`] for each storage. A store keeps [`Entry`]s by name in four
//! [`Table`]s and knows nothing of keys with wildcards, of what is newer, or of queries: the
//! storage decides, on a thread of its own.
//!
//! # Why the traits are not async
//! Databases and file systems block the thread that calls them, so an async trait would only hide
//! the thread that does. Each storage therefore has one thread, which alone calls its store; a
//! bounded queue is between it and the node, so a store that waits for its disk delays no link of
//! another storage. A volume over a network brings its own runtime, and waits for it.
//!
//! # A volume of one's own
//! Implement both traits, run [`conformance::passes`] on it, and give it to the storages beside
//! [`BUILTIN`].

pub mod conformance;
mod entry;
mod error;
#[cfg(any(feature = "redb", feature = "s3"))]
mod escape;
#[cfg(feature = "redb")]
mod folder;
#[cfg(feature = "redb")]
mod fs;
mod memory;
mod options;
#[cfg(feature = "redb")]
mod redb;
#[cfg(feature = "s3")]
mod s3;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

pub use entry::{Entry, Value};
pub use error::{OpenError, StoreError};
#[cfg(feature = "redb")]
pub use fs::Fs;
pub use memory::Memory;
pub use options::Options;
#[cfg(feature = "redb")]
pub use redb::Redb;
#[cfg(feature = "s3")]
pub use s3::S3;

/// Names of stored entries, by the kind of what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    /// Keys that have a value.
    Live,
    /// Keys that were deleted, with the time of it.
    Deleted,
    /// Updates of keys with wildcards, which older updates that come later have to yield to.
    Patterns,
    /// Former values of keys, for storages with a history.
    Past,
}

impl Table {
    /// All tables.
    pub const ALL: [Table; 4] = [Table::Live, Table::Deleted, Table::Patterns, Table::Past];
}

/// The time until changes are on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The storage commits once a second; a crash loses that second.
    None,
    /// The storage commits at most 10 ms after a change.
    #[default]
    Batch,
    /// The storage commits each change before it takes the next.
    Each,
}

impl Durability {
    /// Returns the longest time between a change and its commit.
    pub fn delay(self) -> Duration {
        match self {
            Durability::None => Duration::from_secs(1),
            Durability::Batch => Duration::from_millis(10),
            Durability::Each => Duration::ZERO,
        }
    }
}

/// Bytes on the disk before and after the room of removed entries was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Bytes before.
    pub before: u64,
    /// Bytes after.
    pub after: u64,
}

/// A kind of place that data is kept in.
pub trait Volume: Send + Sync {
    /// Name in the configuration: `volume: "NAME"`, or `backend: "NAME"` of a volume.
    fn name(&self) -> &'static str;

    /// Returns the options that the volume's own section of the configuration may have, for all its storages.
    fn shared_options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Checks the options of a storage without touching the place.
    ///
    /// # Errors
    /// An option that is unknown, missing or of the wrong kind.
    fn check(&self, options: &Options) -> Result<(), OpenError>;

    /// Checks that the place of a storage is there or could be made, without touching it. Only
    /// [`open`](Volume::open) finds that another process has it open.
    ///
    /// # Errors
    /// The options are wrong, or the system would refuse the place.
    ///
    /// # Blocking
    /// Looks for files and folders.
    fn look(&self, options: &Options) -> Result<(), OpenError> {
        self.check(options)
    }

    /// Returns true if a folder has data of this volume, which opens it by the option `dir`.
    fn has_data_in(&self, folder: &Path) -> bool {
        let _ = folder;
        false
    }

    /// Opens the place of one storage; creates it if it does not exist.
    ///
    /// # Errors
    /// The options are wrong, another storage or process has the place open, or it is damaged.
    ///
    /// # Blocking
    /// Until the data can be read.
    fn open(&self, options: &Options) -> Result<Box<dyn Store>, OpenError>;
}

/// The data of one storage.
///
/// A change is seen by the calls that follow it, and is durable after the next
/// [`commit`](Store::commit). A crash undoes all changes since the last commit, or none.
pub trait Store: Send {
    /// Returns the time within which a storage has to commit; `None` for a store that keeps nothing beyond the process.
    fn durability(&self) -> Option<Durability>;

    /// Returns true if it refuses changes.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Returns an entry.
    ///
    /// # Errors
    /// The entry cannot be read. A name that is not stored is no error.
    fn get(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError>;

    /// Shows the entries from a name on, in the order of their names' bytes, until `visit` breaks.
    ///
    /// # Errors
    /// An entry cannot be read.
    fn scan(
        &mut self,
        table: Table,
        from: &str,
        visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
    ) -> Result<(), StoreError>;

    /// Stores an entry in place of the former one.
    ///
    /// # Errors
    /// The entry is too large for the store, or the store is read-only. Nothing changes then.
    fn put(&mut self, table: Table, name: &str, entry: Entry) -> Result<(), StoreError>;

    /// Removes an entry, if there is one.
    ///
    /// # Errors
    /// The store is read-only.
    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError>;

    /// Makes all changes durable.
    ///
    /// # Errors
    /// The disk failed, or is full. The changes are kept, and the next commit tries again.
    ///
    /// # Blocking
    /// Until the disk has confirmed.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Returns the bytes of the changes that are not committed.
    fn uncommitted_bytes(&self) -> usize;

    /// Returns the number of entries.
    ///
    /// # Errors
    /// The store cannot be read.
    fn len(&mut self, table: Table) -> Result<u64, StoreError>;

    /// Compares all that is in the place with its check sums, where a read does not do so.
    ///
    /// # Errors
    /// The place is damaged, or the changes before cannot be committed.
    ///
    /// # Blocking
    /// Until all of it is read.
    fn verify(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Gives the room of removed entries back to the system. Returns the bytes on the disk before and
    /// after; `None` for a store without such room.
    ///
    /// # Errors
    /// The errors of [`commit`](Store::commit), or the place is damaged.
    ///
    /// # Blocking
    /// Until the disk has confirmed.
    fn compact(&mut self) -> Result<Option<Compacted>, StoreError> {
        Ok(None)
    }

    /// Commits and closes it, and does what the option `on_closure` says.
    ///
    /// # Errors
    /// The errors of [`commit`](Store::commit).
    ///
    /// # Blocking
    /// Until the disk has confirmed.
    fn close(self: Box<Self>) -> Result<(), StoreError>;
}

/// The volumes of this build.
pub const BUILTIN: &[&dyn Volume] = &[
    &Memory,
    #[cfg(feature = "redb")]
    &Redb,
    #[cfg(feature = "redb")]
    &Fs,
    #[cfg(feature = "s3")]
    &S3,
];
