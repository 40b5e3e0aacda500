// SPDX-License-Identifier: MIT OR Apache-2.0

//! Store of the volume `s3`: the names of all objects in memory, changes until they are written, and
//! entries that were read not long ago.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};

use super::names::{name_of, path_of};
use super::object::ENCODING_MAX;
use super::remote::{AT_ONCE, Remote, Stored, Write, Written};
use super::{Claimed, Place};
use crate::{Durability, Entry, OpenError, Store, StoreError, Table};

/// Bytes of entries that are kept in memory, besides those of changes.
const CACHE_BYTES: usize = 64 << 20;

/// A change that the server does not have yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Put,
    Removal,
}

/// An entry, as far as it is known.
struct Slot {
    stored: Stored,
    /// Its content; always there if it is to be put.
    entry: Option<Entry>,
    change: Option<Change>,
}

impl Slot {
    fn is_visible(&self) -> bool {
        self.change != Some(Change::Removal)
    }
}

/// The entries of a storage.
pub struct Objects {
    place: Place,
    remote: Remote,
    slots: BTreeMap<(Table, Box<str>), Slot>,
    /// Number of visible slots of each table.
    counts: BTreeMap<Table, u64>,
    changed: BTreeSet<(Table, Box<str>)>,
    changed_bytes: usize,
    cached_bytes: usize,
    /// True once another writer was met.
    has_met_writer: bool,
    _claimed: Claimed,
}

impl Objects {
    /// Reads the names of all objects.
    ///
    /// # Errors
    /// The server fails.
    pub fn open(place: Place, claimed: Claimed, remote: Remote) -> Result<Objects, OpenError> {
        let system = |reason| OpenError::System {
            place: place.name(),
            reason,
        };
        let mut slots = BTreeMap::new();
        let mut counts = BTreeMap::new();
        for meta in remote.list().map_err(system)? {
            let Some((table, name)) = name_of(&place.prefix, meta.location.as_ref()) else {
                continue;
            };
            let slot = Slot {
                stored: meta
                    .e_tag
                    .map_or(Stored::Perhaps, |tag| Stored::Version(tag.into())),
                entry: None,
                change: None,
            };
            slots.insert((table, name.into_boxed_str()), slot);
            *counts.entry(table).or_default() += 1;
        }
        let mut objects = Objects {
            place,
            remote,
            slots,
            counts,
            changed: BTreeSet::new(),
            changed_bytes: 0,
            cached_bytes: 0,
            has_met_writer: false,
            _claimed: claimed,
        };
        let repaired = objects.repair();
        repaired.map_err(|error| OpenError::System {
            place: objects.place.name(),
            reason: error.to_string(),
        })?;
        Ok(objects)
    }

    /// Removes what a commit that was broken off has left: a key with a value and a deletion has the
    /// newer of both.
    fn repair(&mut self) -> Result<(), StoreError> {
        let names = self.slots.keys();
        let deleted = names.filter(|(table, _)| *table == Table::Deleted);
        let both: Vec<_> = deleted
            .filter(|(_, name)| self.slots.contains_key(&(Table::Live, name.clone())))
            .map(|(_, name)| name.clone())
            .collect();
        for name in both {
            let live = self.read(Table::Live, &name)?;
            let deleted = self.read(Table::Deleted, &name)?;
            let older = match (live, deleted) {
                (Some(live), Some(deleted)) if live.own < deleted.own => Table::Live,
                (Some(_), Some(_)) => Table::Deleted,
                _ => continue,
            };
            self.hide(older, name);
        }
        Ok(())
    }

    /// Marks an entry as removed.
    fn hide(&mut self, table: Table, name: Box<str>) {
        let key = (table, name);
        let Some(slot) = self.slots.get_mut(&key).filter(|slot| slot.is_visible()) else {
            return;
        };
        *self.counts.entry(table).or_default() -= 1;
        self.cached_bytes -= slot.entry.take().map_or(0, |entry| entry.weight());
        if slot.stored == Stored::No {
            self.slots.remove(&key);
            self.changed.remove(&key);
            return;
        }
        slot.change = Some(Change::Removal);
        self.changed_bytes += key.1.len() + 1;
        self.changed.insert(key);
    }

    fn path(&self, table: Table, name: &str) -> Result<object_store::path::Path, StoreError> {
        path_of(&self.place.prefix, table, name).map_err(|reason| StoreError::Name {
            name: name.to_owned(),
            reason,
        })
    }

    /// Returns an entry, from memory or from the server.
    fn read(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        let key = (table, Box::from(name));
        match self.slots.get(&key).filter(|slot| slot.is_visible()) {
            None => return Ok(None),
            Some(slot) if slot.entry.is_some() => return Ok(slot.entry.clone()),
            Some(_) => {}
        }
        self.fetch(vec![key.clone()])?;
        Ok(self.slots.get(&key).and_then(|slot| slot.entry.clone()))
    }

    /// Fetches entries that are not in memory. Those that are gone are forgotten.
    fn fetch(&mut self, keys: Vec<(Table, Box<str>)>) -> Result<(), StoreError> {
        let paths = keys.iter().map(|(table, name)| self.path(*table, name));
        let found = self.remote.get(paths.collect::<Result<_, _>>()?)?;
        for (key, found) in keys.into_iter().zip(found) {
            match found {
                Some((stored, entry)) => self.keep(&key, stored, Some(entry)),
                None => {
                    self.slots.remove(&key);
                    *self.counts.entry(key.0).or_default() -= 1;
                }
            }
        }
        Ok(())
    }

    /// Notes the state of an object, and its entry.
    fn keep(&mut self, key: &(Table, Box<str>), stored: Stored, entry: Option<Entry>) {
        let Some(slot) = self.slots.get_mut(key) else {
            return;
        };
        slot.stored = stored;
        if let Some(entry) = entry {
            self.cached_bytes += entry.weight();
            let former = slot.entry.replace(entry);
            self.cached_bytes -= former.map_or(0, |former| former.weight());
        }
    }

    /// Makes room for entries that are read later. Deletions stay: they are small, and looked at often.
    fn make_room(&mut self) {
        if self.cached_bytes <= CACHE_BYTES {
            return;
        }
        for ((table, _), slot) in &mut self.slots {
            if slot.change.is_none() && *table != Table::Deleted {
                self.cached_bytes -= slot.entry.take().map_or(0, |entry| entry.weight());
            }
        }
    }

    fn refuse_if_read_only(&self) -> Result<(), StoreError> {
        match self.place.read_only {
            true => Err(StoreError::ReadOnly),
            false => Ok(()),
        }
    }

    /// Returns the keys of the changes of one kind.
    fn changes(&self, kind: Change) -> Vec<(Table, Box<str>)> {
        let is_of_kind = |key: &&(Table, Box<str>)| {
            let slot = self.slots.get(*key);
            slot.is_some_and(|slot| slot.change == Some(kind))
        };
        self.changed.iter().filter(is_of_kind).cloned().collect()
    }

    fn write_puts(&mut self) -> Result<(), StoreError> {
        let (mut keys, mut writes) = (Vec::new(), Vec::new());
        for key in self.changes(Change::Put) {
            let path = self.path(key.0, &key.1)?;
            let slot = self.slots.get_mut(&key);
            if let Some((slot, entry)) =
                slot.and_then(|slot| slot.entry.clone().map(|it| (slot, it)))
            {
                let stored = slot.stored.clone();
                // Until it is answered.
                if stored == Stored::No {
                    slot.stored = Stored::Perhaps;
                }
                writes.push(Write {
                    path,
                    entry,
                    stored,
                });
                keys.push(key);
            }
        }
        let results = self.remote.put(writes);
        for (number, written) in results.done {
            let Some(key) = keys.get(number) else {
                continue;
            };
            match written {
                Written::Ours(stored) => self.keep(key, stored, None),
                Written::Theirs(stored, entry) => {
                    self.keep(key, stored, Some(entry));
                    self.meet_writer();
                }
            }
            self.settle(key);
        }
        results.failure.map_or(Ok(()), |reason| self.failed(reason))
    }

    fn write_removals(&mut self) -> Result<(), StoreError> {
        let keys = self.changes(Change::Removal);
        let paths = keys.iter().map(|(table, name)| self.path(*table, name));
        let results = self.remote.delete(paths.collect::<Result<_, _>>()?);
        for number in results.done {
            if let Some(key) = keys.get(number) {
                self.slots.remove(key);
                self.settle(key);
            }
        }
        results.failure.map_or(Ok(()), |reason| self.failed(reason))
    }

    fn failed(&self, reason: String) -> Result<(), StoreError> {
        Err(StoreError::Failed(format!(
            "{}: {reason}",
            self.place.name()
        )))
    }

    /// Notes that the server has a change.
    fn settle(&mut self, key: &(Table, Box<str>)) {
        self.changed.remove(key);
        if let Some(slot) = self.slots.get_mut(key) {
            slot.change = None;
        }
    }

    fn meet_writer(&mut self) {
        if !std::mem::replace(&mut self.has_met_writer, true) {
            tracing::warn!(
                "{}: another program has written newer values, which are kept; give each storage a path_prefix of its own",
                self.place.name()
            );
        }
    }

    fn destroy(&mut self) -> Result<(), StoreError> {
        let named = |reason| StoreError::Failed(format!("{}: {reason}", self.place.name()));
        let all = self.remote.list().map_err(named)?;
        let ours = all
            .into_iter()
            .map(|meta| meta.location)
            .filter(|path| name_of(&self.place.prefix, path.as_ref()).is_some());
        let removed = self.remote.delete(ours.collect());
        removed.failure.map_or(Ok(()), |reason| self.failed(reason))
    }
}

impl Store for Objects {
    fn durability(&self) -> Option<Durability> {
        Some(self.place.durability)
    }

    fn is_read_only(&self) -> bool {
        self.place.read_only
    }

    fn get(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        self.make_room();
        self.read(table, name)
    }

    fn scan(
        &mut self,
        table: Table,
        from: &str,
        visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut next = Bound::Included((table, Box::from(from)));
        loop {
            self.make_room();
            let after = self.slots.range((next, Bound::Unbounded));
            let of_table = after.take_while(|((other, _), _)| *other == table);
            let visible = of_table.filter(|(_, slot)| slot.is_visible());
            let keys: Vec<_> = visible.map(|(key, _)| key.clone()).take(AT_ONCE).collect();
            let Some(last) = keys.last() else {
                return Ok(());
            };
            next = Bound::Excluded(last.clone());
            let is_absent = |key: &&(Table, Box<str>)| {
                let slot = self.slots.get(*key);
                slot.is_some_and(|slot| slot.entry.is_none())
            };
            let absent: Vec<_> = keys.iter().filter(is_absent).cloned().collect();
            if !absent.is_empty() {
                self.fetch(absent)?;
            }
            for key in keys {
                let entry = self.slots.get(&key).and_then(|slot| slot.entry.clone());
                if let Some(entry) = entry
                    && visit(&key.1, entry).is_break()
                {
                    return Ok(());
                }
            }
        }
    }

    fn put(&mut self, table: Table, name: &str, entry: Entry) -> Result<(), StoreError> {
        self.refuse_if_read_only()?;
        self.path(table, name)?;
        let encoding = entry.value.as_ref().map_or(0, |value| value.encoding.len());
        if encoding > ENCODING_MAX {
            return Err(StoreError::Name {
                name: name.to_owned(),
                reason: "its encoding is longer than 512 bytes",
            });
        }
        let key = (table, Box::from(name));
        let slot = self.slots.entry(key.clone()).or_insert(Slot {
            stored: Stored::No,
            entry: None,
            // Counted below.
            change: Some(Change::Removal),
        });
        if !slot.is_visible() {
            *self.counts.entry(table).or_default() += 1;
        }
        slot.change = Some(Change::Put);
        self.changed_bytes += entry.weight() + name.len();
        self.cached_bytes += entry.weight();
        let former = slot.entry.replace(entry);
        self.cached_bytes -= former.map_or(0, |former| former.weight());
        self.changed.insert(key);
        Ok(())
    }

    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError> {
        self.refuse_if_read_only()?;
        self.hide(table, Box::from(name));
        Ok(())
    }

    /// Writes all values before it removes any: a deletion is there before its key is gone.
    fn commit(&mut self) -> Result<(), StoreError> {
        if self.changed.is_empty() || self.place.read_only {
            self.changed_bytes = 0;
            return Ok(());
        }
        self.write_puts()?;
        self.write_removals()?;
        self.changed_bytes = 0;
        Ok(())
    }

    fn uncommitted_bytes(&self) -> usize {
        match self.place.read_only {
            true => 0,
            false => self.changed_bytes,
        }
    }

    fn len(&mut self, table: Table) -> Result<u64, StoreError> {
        Ok(self.counts.get(&table).copied().unwrap_or(0))
    }

    fn verify(&mut self) -> Result<(), StoreError> {
        for table in Table::ALL {
            self.scan(table, "", &mut |_, _| ControlFlow::Continue(()))?;
        }
        Ok(())
    }

    fn close(mut self: Box<Self>) -> Result<(), StoreError> {
        match self.place.read_only {
            true => Ok(()),
            false if self.place.destroys => self.destroy(),
            false => self.commit(),
        }
    }
}
