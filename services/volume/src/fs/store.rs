// SPDX-License-Identifier: MIT OR Apache-2.0

//! Store of the volume `fs`: changes wait in memory until a commit writes their files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use zonda_codec::{Ntp64, Timestamp, ZenohId};

use super::names::{SELF, encoding_of, path_of};
use super::walk::{Walk, is_file, is_folder};
use super::{DATABASE, Place};
use crate::Volume as _;
use crate::{
    Compacted, Durability, Entry, Memory, OpenError, Options, Redb, Store, StoreError, Table,
    Value, folder,
};

/// File that is written before it takes its name, in the folder of the database.
const NEW: &str = "new";
/// End of the name of a file that becomes a folder: until it is in that folder.
const MOVING: &str = "%moving";
/// Fault of a name that would lead out of the folder.
const LINK: &str = "a folder on its path is a link";
/// Id in the time of a file that was put there by hand.
const BY_HAND: [u8; 1] = [1];

/// The files of one storage.
pub struct Files {
    place: Place,
    /// All tables; the entries of the live one have a [`Stamp`] in place of their payload.
    known: Box<dyn Store>,
    /// Payloads to write; `None` for a file to remove.
    changes: BTreeMap<Box<str>, Option<Bytes>>,
    changed_bytes: usize,
    /// Folders in which files were created or removed since the last commit.
    unsynced: BTreeSet<PathBuf>,
}

/// Time and length of a file as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    time: Duration,
    length: u64,
}

impl Stamp {
    fn of(file: &Path) -> io::Result<Stamp> {
        let metadata = std::fs::metadata(file)?;
        let time = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH);
        Ok(Stamp {
            time: time.unwrap_or_default(),
            length: metadata.len(),
        })
    }

    fn to_bytes(self) -> Bytes {
        let nanos = self.time.as_nanos().to_le_bytes();
        [&nanos[..], &self.length.to_le_bytes()].concat().into()
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |error| StoreError::Failed(format!("{}: {error}", path.display()))
}

impl Files {
    pub fn open(place: Place) -> Result<Files, OpenError> {
        let database = place.folder.join(DATABASE);
        let system = |error: io::Error| OpenError::System {
            place: place.folder.display().to_string(),
            reason: error.to_string(),
        };
        // A folder that is only read need not have been a storage.
        let known = match place.read_only && !database.exists() {
            true => {
                std::fs::read_dir(&place.folder).map_err(system)?;
                Memory.open(&Options::default())?
            }
            false => {
                let options = Options::default().with("dir", absolute(&database).map_err(system)?);
                Redb.open(&options.with("read_only", place.read_only))?
            }
        };
        Ok(Files {
            place,
            known,
            changes: BTreeMap::new(),
            changed_bytes: 0,
            unsynced: BTreeSet::new(),
        })
    }

    /// Returns where the file of a name is, if there is one.
    fn file_of(&self, name: &str) -> Option<PathBuf> {
        let path = self.place.folder.join(path_of(name).ok()?);
        let is_inside = self.leads_inside(&path);
        let places = [Some(path.join(SELF)), moving(&path), Some(path)];
        let mut places = places.into_iter().rev().flatten();
        let found = places.find(|place| is_file(place, self.place.follow_links));
        found.filter(|_| is_inside)
    }

    /// Returns true if no folder on the way is a link, unless links are followed.
    fn leads_inside(&self, path: &Path) -> bool {
        let is_link = |folder: &Path| {
            let found = std::fs::symlink_metadata(folder);
            found.is_ok_and(|metadata| metadata.is_symlink())
        };
        let mut folders = path.ancestors().skip(1);
        let mut inside = folders
            .by_ref()
            .take_while(|folder| *folder != self.place.folder);
        self.place.follow_links || !inside.any(is_link)
    }

    /// Reads a file, and what is known of it.
    fn read(&mut self, name: &str) -> Result<Option<Entry>, StoreError> {
        let Some(file) = self.file_of(name) else {
            return Ok(None);
        };
        let stamp = Stamp::of(&file).map_err(failed(&file))?;
        let payload = match std::fs::read(&file) {
            Ok(payload) => Bytes::from(payload),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&file)(error)),
        };
        let known = self.known.get(Table::Live, name)?;
        let is_known = |entry: &Entry| {
            let value = entry.value.as_ref();
            value.is_some_and(|value| value.payload == stamp.to_bytes())
        };
        match known {
            Some(mut entry) if is_known(&entry) => {
                if let Some(value) = &mut entry.value {
                    value.payload = payload;
                }
                Ok(Some(entry))
            }
            known => {
                let encoding = encoding_of(name).into();
                let value = Some(Value { payload, encoding });
                Ok(by_hand(stamp, known).map(|at| Entry::new(at, value)))
            }
        }
    }

    fn change(&mut self, name: &str, payload: Option<Bytes>) {
        let length = payload.as_ref().map_or(0, Bytes::len);
        let former = self.changes.insert(name.into(), payload);
        let freed = former.flatten().map_or(0, |payload| payload.len());
        self.changed_bytes = (self.changed_bytes + length).saturating_sub(freed);
    }

    /// Writes the file of a name, and notes its stamp.
    fn write(&mut self, name: &str, payload: &[u8]) -> Result<(), StoreError> {
        let path = self
            .place
            .folder
            .join(path_of(name).map_err(|reason| refused(name, reason))?);
        if !self.leads_inside(&path) {
            return Err(refused(name, LINK));
        }
        let path = self.make_way(path)?;
        let new = self.place.folder.join(DATABASE).join(NEW);
        let mut file = File::create(&new).map_err(failed(&new))?;
        file.write_all(payload).map_err(failed(&new))?;
        if self.place.durability != Durability::None {
            file.sync_data().map_err(failed(&new))?;
        }
        std::fs::rename(&new, &path).map_err(failed(&path))?;
        self.note_changed(&path);
        let stamp = Stamp::of(&path).map_err(failed(&path))?;
        if let Some(mut entry) = self.known.get(Table::Live, name)? {
            let encoding = entry.value.map(|value| value.encoding).unwrap_or_default();
            let payload = stamp.to_bytes();
            entry.value = Some(Value { payload, encoding });
            self.known.put(Table::Live, name, entry)?;
        }
        Ok(())
    }

    /// Creates the folders of a path, and returns the path, or the file in it if it is a folder.
    fn make_way(&self, path: PathBuf) -> Result<PathBuf, StoreError> {
        if is_folder(&path, self.place.follow_links) {
            return Ok(path.join(SELF));
        }
        let Some(parent) = path.parent() else {
            return Ok(path);
        };
        if is_folder(parent, self.place.follow_links) {
            return Ok(path);
        }
        // A file in the way moves into the folder that takes its place.
        let mut ancestors = parent.ancestors();
        let in_the_way = ancestors.find(|folder| is_file(folder, self.place.follow_links));
        let aside = in_the_way.and_then(|file| Some((file, moving(file)?)));
        if let Some((file, aside)) = &aside {
            std::fs::rename(file, aside).map_err(failed(file))?;
        }
        std::fs::create_dir_all(parent).map_err(failed(parent))?;
        if let Some((folder, aside)) = &aside {
            std::fs::rename(aside, folder.join(SELF)).map_err(failed(folder))?;
        }
        Ok(path)
    }

    fn delete(&mut self, name: &str) -> Result<(), StoreError> {
        let Some(file) = self.file_of(name) else {
            return Ok(());
        };
        std::fs::remove_file(&file).map_err(failed(&file))?;
        self.note_changed(&file);
        // Folders that are empty now; the first one that is not ends it.
        let folders = file.ancestors().skip(1);
        for folder in folders.take_while(|folder| *folder != self.place.folder) {
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Notes the folders of a file, which may be new themselves.
    fn note_changed(&mut self, file: &Path) {
        for folder in file.ancestors().skip(1) {
            self.unsynced.insert(folder.to_owned());
            if folder == self.place.folder {
                return;
            }
        }
    }

    /// Makes the names of all files durable, but for a storage that does not ask for it.
    fn sync_folders(&mut self) -> Result<(), StoreError> {
        if self.place.durability == Durability::None {
            self.unsynced.clear();
        }
        while let Some(folder) = self.unsynced.last() {
            folder::sync(folder).map_err(failed(folder))?;
            self.unsynced.pop_last();
        }
        Ok(())
    }

    fn delete_all(self) -> Result<(), StoreError> {
        drop(self.known);
        let folder = &self.place.folder;
        for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
            let path = entry.map_err(failed(folder))?.path();
            match is_folder(&path, false) {
                true => std::fs::remove_dir_all(&path),
                false => std::fs::remove_file(&path),
            }
            .map_err(failed(&path))?;
        }
        Ok(())
    }
}

fn absolute(path: &Path) -> io::Result<String> {
    let path = std::path::absolute(path)?;
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::other("the path is no UTF-8"))
}

fn refused(name: &str, reason: &'static str) -> StoreError {
    StoreError::Name {
        name: name.to_owned(),
        reason,
    }
}

/// Returns the hidden name of a file while it becomes a folder.
fn moving(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    Some(path.with_file_name(format!(".{name}{MOVING}")))
}

/// Returns the time of a file that was changed by hand: not before that of its last update.
fn by_hand(stamp: Stamp, known: Option<Entry>) -> Option<Timestamp> {
    let id = ZenohId::from_le_bytes(&BY_HAND).ok()?;
    let time = Timestamp::new(Ntp64::from_unix(stamp.time), id);
    Some(known.map_or(time, |known| known.at.max(time)))
}

impl Store for Files {
    fn durability(&self) -> Option<Durability> {
        Some(self.place.durability)
    }

    fn is_read_only(&self) -> bool {
        self.place.read_only
    }

    fn get(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        if table != Table::Live {
            return self.known.get(table, name);
        }
        let changed = self.changes.get(name).cloned();
        match changed {
            None => self.read(name),
            Some(None) => Ok(None),
            Some(Some(payload)) => {
                let mut entry = self.known.get(Table::Live, name)?;
                if let Some(value) = entry.as_mut().and_then(|entry| entry.value.as_mut()) {
                    value.payload = payload;
                }
                Ok(entry)
            }
        }
    }

    fn scan(
        &mut self,
        table: Table,
        from: &str,
        visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        if table != Table::Live {
            return self.known.scan(table, from, visit);
        }
        let folder = self.place.folder.clone();
        let walk = Walk::new(&folder, from, self.place.follow_links).map_err(failed(&folder))?;
        let range = (Bound::Included(from), Bound::Unbounded);
        let changed = self
            .changes
            .range::<str, _>(range)
            .map(|(name, _)| name.to_string());
        let changed: Vec<String> = changed.collect();
        let mut changed = changed.into_iter().peekable();
        // Files and changes, in one order, each name once.
        for file in walk {
            let file = file.map_err(failed(&folder))?;
            while let Some(name) = changed.next_if(|name| *name < file) {
                if show(self, &name, visit)?.is_break() {
                    return Ok(());
                }
            }
            changed.next_if_eq(&file);
            if show(self, &file, visit)?.is_break() {
                return Ok(());
            }
        }
        for name in changed {
            if show(self, &name, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn put(&mut self, table: Table, name: &str, entry: Entry) -> Result<(), StoreError> {
        if self.place.read_only {
            return Err(StoreError::ReadOnly);
        }
        if table != Table::Live {
            return self.known.put(table, name, entry);
        }
        let path = path_of(name).map_err(|reason| refused(name, reason))?;
        if !self.leads_inside(&self.place.folder.join(path)) {
            return Err(refused(name, LINK));
        }
        let value = entry.value.unwrap_or_default();
        let encoding = value.encoding;
        let payload = Bytes::new();
        let known = Entry {
            value: Some(Value { payload, encoding }),
            ..entry
        };
        self.known.put(table, name, known)?;
        self.change(name, Some(value.payload));
        Ok(())
    }

    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError> {
        if self.place.read_only {
            return Err(StoreError::ReadOnly);
        }
        self.known.remove(table, name)?;
        if table == Table::Live {
            self.change(name, None);
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        // Changes whose files are written are done, also if a later one fails.
        while let Some((name, payload)) = self.changes.pop_first() {
            let written = match &payload {
                Some(payload) => self.write(&name, payload),
                None => self.delete(&name),
            };
            match written {
                Ok(()) => {}
                // The folder became a link since the change was taken, and the next commit would fail as well.
                Err(error @ StoreError::Name { .. }) => return Err(error),
                Err(error) => {
                    self.changes.insert(name, payload);
                    return Err(error);
                }
            }
        }
        self.changed_bytes = 0;
        self.sync_folders()?;
        self.known.commit()
    }

    fn uncommitted_bytes(&self) -> usize {
        self.changed_bytes + self.known.uncommitted_bytes()
    }

    /// Returns the number of entries, without files that were put there by hand.
    fn len(&mut self, table: Table) -> Result<u64, StoreError> {
        self.known.len(table)
    }

    fn verify(&mut self) -> Result<(), StoreError> {
        self.commit()?;
        self.known.verify()
    }

    fn compact(&mut self) -> Result<Option<Compacted>, StoreError> {
        self.commit()?;
        self.known.compact()
    }

    fn close(mut self: Box<Self>) -> Result<(), StoreError> {
        if self.place.destroys {
            return self.delete_all();
        }
        self.commit()?;
        self.known.close()
    }
}

fn show(
    files: &mut Files,
    name: &str,
    visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, StoreError> {
    Ok(match files.get(Table::Live, name)? {
        Some(entry) => visit(name, entry),
        None => ControlFlow::Continue(()),
    })
}
