// SPDX-License-Identifier: MIT OR Apache-2.0

//! Store of the volume `redb`: changes wait in memory until a commit writes them in one transaction.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::Path;

use redb::{ReadOnlyTable, ReadableTableMetadata, TableDefinition, TableError};

use super::{Place, file};
use crate::{Compacted, Durability, Entry, OpenError, Store, StoreError, Table, folder};

type Definition = TableDefinition<'static, &'static str, &'static [u8]>;
type Committed = ReadOnlyTable<&'static str, &'static [u8]>;
type Changes = BTreeMap<Box<str>, Option<Entry>>;

const LIVE: Definition = TableDefinition::new("live");
const DELETED: Definition = TableDefinition::new("deleted");
const PATTERNS: Definition = TableDefinition::new("patterns");
const PAST: Definition = TableDefinition::new("past");

/// Bytes of memory of a change beside its name and entry.
const CHANGE_BYTES: usize = 64;

fn definition(table: Table) -> Definition {
    match table {
        Table::Live => LIVE,
        Table::Deleted => DELETED,
        Table::Patterns => PATTERNS,
        Table::Past => PAST,
    }
}

/// One value for each table.
#[derive(Default)]
struct Each<T> {
    live: T,
    deleted: T,
    patterns: T,
    past: T,
}

impl<T> Each<T> {
    fn of(&self, table: Table) -> &T {
        match table {
            Table::Live => &self.live,
            Table::Deleted => &self.deleted,
            Table::Patterns => &self.patterns,
            Table::Past => &self.past,
        }
    }

    fn of_mut(&mut self, table: Table) -> &mut T {
        match table {
            Table::Live => &mut self.live,
            Table::Deleted => &mut self.deleted,
            Table::Patterns => &mut self.patterns,
            Table::Past => &mut self.past,
        }
    }
}

/// The database of one storage.
pub struct Database {
    place: Place,
    /// `None` after a failure of the disk, until it is opened again.
    database: Option<redb::Database>,
    /// The tables as of the last commit.
    committed: Option<Each<Option<Committed>>>,
    changes: Each<Changes>,
    changed_bytes: usize,
}

impl Database {
    pub fn open(place: Place) -> Result<Database, OpenError> {
        let path = place.file();
        let database = match place.read_only {
            true => file::open_to_read(&path)?,
            false => {
                std::fs::create_dir_all(&place.folder)
                    .map_err(|error| folder::refused(&place.folder, &error))?;
                file::open(&path, place.creates)?
            }
        };
        Ok(Database {
            place,
            database: Some(database),
            committed: None,
            changes: Each::default(),
            changed_bytes: 0,
        })
    }

    /// Returns the database; opens it again after a failure.
    fn database(&mut self) -> Result<&redb::Database, StoreError> {
        if self.database.is_none() {
            let path = self.place.file();
            let opened = match self.place.read_only {
                true => file::open_to_read(&path),
                false => file::open(&path, false),
            };
            self.database = Some(opened.map_err(|error| StoreError::Failed(error.to_string()))?);
        }
        self.database.as_ref().ok_or(StoreError::ReadOnly)
    }

    fn committed(&mut self, table: Table) -> Result<Option<&Committed>, StoreError> {
        if self.committed.is_none() {
            let reading = self.database()?.begin_read().map_err(failed)?;
            let open = |table| match reading.open_table(definition(table)) {
                Ok(table) => Ok(Some(table)),
                Err(TableError::TableDoesNotExist(_)) => Ok(None),
                Err(error) => Err(failed(error)),
            };
            self.committed = Some(Each {
                live: open(Table::Live)?,
                deleted: open(Table::Deleted)?,
                patterns: open(Table::Patterns)?,
                past: open(Table::Past)?,
            });
        }
        let tables = self.committed.as_ref();
        Ok(tables.and_then(|tables| tables.of(table).as_ref()))
    }

    fn change(&mut self, table: Table, name: &str, to: Option<Entry>) -> Result<(), StoreError> {
        if self.place.read_only {
            return Err(StoreError::ReadOnly);
        }
        let weight = |entry: &Option<Entry>| {
            name.len() + CHANGE_BYTES + entry.as_ref().map_or(0, Entry::weight)
        };
        self.changed_bytes += weight(&to);
        let changes = self.changes.of_mut(table);
        match changes.get_mut(name) {
            Some(known) => {
                self.changed_bytes = self.changed_bytes.saturating_sub(weight(known));
                *known = to;
            }
            None => drop(changes.insert(name.into(), to)),
        }
        Ok(())
    }

    /// Commits, and works on the database as a whole. After a failure it is opened again.
    fn rework(
        &mut self,
        work: impl FnOnce(&Path, redb::Database) -> Result<redb::Database, OpenError>,
    ) -> Result<(), StoreError> {
        self.commit()?;
        self.committed = None;
        self.database()?;
        if let Some(database) = self.database.take() {
            self.database = Some(work(&self.place.file(), database).map_err(failed)?);
        }
        Ok(())
    }

    /// Returns the bytes of its file.
    fn size(&self) -> Result<u64, StoreError> {
        let metadata = std::fs::metadata(self.place.file());
        metadata.map(|metadata| metadata.len()).map_err(failed)
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let mut writing = self.database()?.begin_write().map_err(failed)?;
        writing.set_durability(redb::Durability::Immediate);
        for table in Table::ALL {
            let changes = self.changes.of(table);
            if changes.is_empty() {
                continue;
            }
            let mut open = writing.open_table(definition(table)).map_err(failed)?;
            for (name, entry) in changes {
                match entry {
                    Some(entry) => open.insert(&**name, &*entry.to_bytes()).map(|_| ()),
                    None => open.remove(&**name).map(|_| ()),
                }
                .map_err(failed)?;
            }
        }
        writing.commit().map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(error.to_string())
}

fn entry_of(name: &str, bytes: &[u8]) -> Result<Entry, StoreError> {
    Entry::from_bytes(bytes).map_err(|reason| StoreError::Damaged {
        name: name.to_owned(),
        reason,
    })
}

impl Store for Database {
    fn durability(&self) -> Option<Durability> {
        Some(self.place.durability)
    }

    fn is_read_only(&self) -> bool {
        self.place.read_only
    }

    fn get(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        if let Some(changed) = self.changes.of(table).get(name) {
            return Ok(changed.clone());
        }
        let Some(committed) = self.committed(table)? else {
            return Ok(None);
        };
        let found = committed.get(name).map_err(failed)?;
        found.map(|bytes| entry_of(name, bytes.value())).transpose()
    }

    fn scan(
        &mut self,
        table: Table,
        from: &str,
        visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.committed(table)?;
        let tables = self.committed.as_ref();
        let committed = tables.and_then(|tables| tables.of(table).as_ref());
        let range = (Bound::Included(from), Bound::Unbounded);
        let mut changed = self.changes.of(table).range::<str, _>(range).peekable();
        // Committed entries, with the changed ones of smaller or equal names before each of them.
        if let Some(committed) = committed {
            for found in committed.range(from..).map_err(failed)? {
                let (name, bytes) = found.map_err(failed)?;
                let name = name.value();
                let mut is_changed = false;
                while let Some((changed, entry)) = changed.next_if(|(c, _)| &***c <= name) {
                    is_changed |= **changed == *name;
                    if let Some(entry) = entry
                        && visit(changed, entry.clone()).is_break()
                    {
                        return Ok(());
                    }
                }
                if !is_changed && visit(name, entry_of(name, bytes.value())?).is_break() {
                    return Ok(());
                }
            }
        }
        for (name, entry) in changed {
            if let Some(entry) = entry
                && visit(name, entry.clone()).is_break()
            {
                break;
            }
        }
        Ok(())
    }

    fn put(&mut self, table: Table, name: &str, entry: Entry) -> Result<(), StoreError> {
        self.change(table, name, Some(entry))
    }

    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError> {
        self.change(table, name, None)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if self.changed_bytes == 0 {
            return Ok(());
        }
        // The tables of the last commit would keep its pages in use.
        self.committed = None;
        if let Err(error) = self.write() {
            // A database that met a failure of its disk refuses all that follows.
            self.database = None;
            return Err(error);
        }
        self.changes = Each::default();
        self.changed_bytes = 0;
        Ok(())
    }

    fn uncommitted_bytes(&self) -> usize {
        self.changed_bytes
    }

    fn len(&mut self, table: Table) -> Result<u64, StoreError> {
        let names: Vec<(Box<str>, bool)> = (self.changes.of(table).iter())
            .map(|(name, entry)| (name.clone(), entry.is_some()))
            .collect();
        let Some(committed) = self.committed(table)? else {
            return Ok(names.iter().filter(|(_, is_there)| *is_there).count() as u64);
        };
        let mut count = committed.len().map_err(failed)?;
        for (name, is_there) in names {
            let was_there = committed.get(&*name).map_err(failed)?.is_some();
            match (was_there, is_there) {
                (false, true) => count += 1,
                (true, false) => count = count.saturating_sub(1),
                _ => {}
            }
        }
        Ok(count)
    }

    fn verify(&mut self) -> Result<(), StoreError> {
        self.rework(file::verify)
    }

    fn compact(&mut self) -> Result<Option<Compacted>, StoreError> {
        if self.place.read_only {
            return Err(StoreError::ReadOnly);
        }
        self.commit()?;
        let before = self.size()?;
        self.rework(file::compact)?;
        // A close may extend the file; it is opened again when it is needed.
        self.database = None;
        let after = self.size()?;
        Ok(Some(Compacted { before, after }))
    }

    fn close(mut self: Box<Self>) -> Result<(), StoreError> {
        if !self.place.destroys {
            return self.commit();
        }
        let path = self.place.file();
        self.committed = None;
        self.database = None;
        std::fs::remove_file(path).map_err(failed)
    }
}
