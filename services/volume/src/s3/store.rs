// SPDX-License-Identifier: MIT OR Apache-2.0

//! Store of the volume `s3`: the names of all objects in memory, changes until they are written, and
//! entries that were read not long ago.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, ControlFlow};

use super::names::{mark_of, name_of, path_of, place_below, prefixes_above};
use super::object::ENCODING_MAX;
use super::remote::{AT_ONCE, Found, Remote, Removal, Stored, Write, Written};
use super::{Claimed, Place};
use crate::{Durability, Entry, OpenError, Store, StoreError, Table};

/// Bytes of entries that are kept in memory, besides those of changes.
const CACHE_BYTES: usize = 64 << 20;

/// A table, and a name in it.
type Key = (Table, Box<str>);

/// A change that the server does not have yet.
#[derive(Clone, PartialEq, Eq)]
enum Change {
    Put,
    /// With the deletion that the object has, if it has one.
    Removal(Option<Entry>),
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
        !matches!(self.change, Some(Change::Removal(_)))
    }
}

/// Returns the bytes of an entry that the limit of the cache is for: deletions stay in memory.
fn cached(table: Table, entry: &Entry) -> usize {
    match table {
        Table::Deleted => 0,
        _ => entry.weight(),
    }
}

/// The entries of a storage.
pub struct Objects {
    place: Place,
    remote: Remote,
    slots: BTreeMap<Key, Slot>,
    /// Number of visible slots of each table.
    counts: BTreeMap<Table, u64>,
    changed: BTreeSet<Key>,
    changed_bytes: usize,
    cached_bytes: usize,
    /// True once another writer was met.
    has_met_writer: bool,
    _claimed: Claimed,
}

impl Objects {
    /// Reads the names of all objects, and marks the place.
    ///
    /// # Errors
    /// The server fails, or another storage has its place within this one or around it.
    pub fn open(place: Place, claimed: Claimed, remote: Remote) -> Result<Objects, OpenError> {
        let mut slots = BTreeMap::new();
        let mut counts = BTreeMap::new();
        for meta in remote.list().map_err(|reason| place.system(reason))? {
            let path = meta.location.as_ref();
            if let Some(other) = place_below(&place.prefix, path) {
                return Err(place.overlaps(other));
            }
            let Some((table, name)) = name_of(&place.prefix, path) else {
                continue;
            };
            let slot = Slot {
                stored: Stored::of(meta.e_tag),
                entry: None,
                change: None,
            };
            slots.insert((table, name.into_boxed_str()), slot);
            *counts.entry(table).or_default() += 1;
        }
        claim(&place, &remote)?;
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
        repaired.map_err(|error| objects.place.system(error.to_string()))?;
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
            let live = self.read(Table::Live, &name);
            let both = live.and_then(|live| Ok((live, self.read(Table::Deleted, &name)?)));
            let older = match both {
                Ok((Some(live), Some(deleted))) if live.own < deleted.own => Table::Live,
                Ok((Some(_), Some(_))) => Table::Deleted,
                // A damaged one stays until it is replaced.
                Ok(_) | Err(StoreError::Damaged { .. }) => continue,
                Err(error) => return Err(error),
            };
            self.hide(older, name, None);
        }
        Ok(())
    }

    /// Marks an entry as removed. Its object may have the deletion already.
    fn hide(&mut self, table: Table, name: Box<str>, deletion: Option<Entry>) {
        let key = (table, name);
        let Some(slot) = self.slots.get_mut(&key).filter(|slot| slot.is_visible()) else {
            return;
        };
        *self.counts.entry(table).or_default() -= 1;
        let former = slot.entry.take();
        self.cached_bytes -= former.map_or(0, |entry| cached(table, &entry));
        if slot.stored == Stored::No {
            self.slots.remove(&key);
            self.changed.remove(&key);
            return;
        }
        slot.change = Some(Change::Removal(deletion));
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
        match self.fetch(vec![key.clone()])?.pop() {
            Some((_, reason)) => Err(damaged(name, reason)),
            None => Ok(self.slots.get(&key).and_then(|slot| slot.entry.clone())),
        }
    }

    /// Fetches entries that are not in memory. Those that are gone are forgotten, and those that are
    /// damaged are returned with the reason.
    fn fetch(&mut self, keys: Vec<Key>) -> Result<Vec<(Key, &'static str)>, StoreError> {
        let paths = keys.iter().map(|(table, name)| self.path(*table, name));
        let paths = paths.collect::<Result<_, _>>()?;
        let found = self.remote.get(paths)?;
        let mut faults = Vec::new();
        for (key, found) in keys.into_iter().zip(found) {
            match found {
                Found::Entry(stored, entry) if key.0 == Table::Live && entry.value.is_none() => {
                    // Its removal was broken off.
                    self.keep(&key, stored, None);
                    self.hide(key.0, key.1, Some(entry));
                }
                Found::Entry(stored, entry) => self.keep(&key, stored, Some(entry)),
                Found::Damaged(stored, reason) => {
                    self.keep(&key, stored, None);
                    faults.push((key, reason));
                }
                Found::Nothing => self.forget(&key),
            }
        }
        Ok(faults)
    }

    /// Forgets a visible entry whose object is gone.
    fn forget(&mut self, key: &Key) {
        if let Some(slot) = self.slots.remove(key) {
            *self.counts.entry(key.0).or_default() -= 1;
            self.cached_bytes -= slot.entry.map_or(0, |entry| cached(key.0, &entry));
        }
    }

    /// Notes the state of an object, and its entry.
    fn keep(&mut self, key: &Key, stored: Stored, entry: Option<Entry>) {
        let Some(slot) = self.slots.get_mut(key) else {
            return;
        };
        slot.stored = stored;
        if let Some(entry) = entry {
            self.cached_bytes += cached(key.0, &entry);
            let former = slot.entry.replace(entry);
            self.cached_bytes -= former.map_or(0, |former| cached(key.0, &former));
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

    /// Returns the keys of the changes that are removals, or of those that are not.
    fn changes(&self, are_removals: bool) -> Vec<Key> {
        let is_of_kind = |key: &&Key| {
            let slot = self.slots.get(*key);
            slot.is_some_and(|slot| slot.change.is_some() && slot.is_visible() != are_removals)
        };
        self.changed.iter().filter(is_of_kind).cloned().collect()
    }

    fn write_puts(&mut self) -> Result<(), StoreError> {
        let (mut keys, mut writes) = (Vec::new(), Vec::new());
        for key in self.changes(false) {
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
                Written::Theirs(_, entry) if key.0 == Table::Live && entry.value.is_none() => {
                    self.forget(key);
                    self.meet_writer();
                }
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
        let keys = self.changes(true);
        let removals = keys.iter().map(|key| self.removal(key));
        let results = self.remote.remove(removals.collect::<Result<_, _>>()?);
        for (number, theirs) in results.done {
            let Some(key) = keys.get(number) else {
                continue;
            };
            self.settle(key);
            match theirs {
                None => drop(self.slots.remove(key)),
                Some((stored, entry)) => {
                    *self.counts.entry(key.0).or_default() += 1;
                    self.keep(key, stored, Some(entry));
                    self.meet_writer();
                }
            }
        }
        results.failure.map_or(Ok(()), |reason| self.failed(reason))
    }

    /// Returns the removal of an object: of a key with its deletion.
    fn removal(&self, key: &Key) -> Result<Removal, StoreError> {
        let path = self.path(key.0, &key.1)?;
        let slot = self.slots.get(key).filter(|_| key.0 == Table::Live);
        let deletion = slot.and_then(|slot| {
            let known = match &slot.change {
                Some(Change::Removal(Some(deletion))) => Some(deletion),
                _ => {
                    let deleted = self.slots.get(&(Table::Deleted, key.1.clone()));
                    deleted.and_then(|deleted| deleted.entry.as_ref())
                }
            };
            Some((known?.clone(), slot.stored.clone()))
        });
        Ok(Removal { path, deletion })
    }

    fn failed(&self, reason: String) -> Result<(), StoreError> {
        Err(StoreError::Failed(format!(
            "{}: {reason}",
            self.place.name()
        )))
    }

    /// Notes that the server has a change.
    fn settle(&mut self, key: &Key) {
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
        let mark = mark_of(&self.place.prefix);
        let is_ours = |path: &object_store::path::Path| {
            *path == mark || name_of(&self.place.prefix, path.as_ref()).is_some()
        };
        let ours = all.into_iter().map(|meta| meta.location).filter(is_ours);
        let removals = ours.map(|path| Removal {
            path,
            deletion: None,
        });
        let removed = self.remote.remove(removals.collect());
        removed.failure.map_or(Ok(()), |reason| self.failed(reason))
    }
}

/// Marks the place of a storage in its bucket.
///
/// # Errors
/// The server fails, or the place is within that of another storage.
fn claim(place: &Place, remote: &Remote) -> Result<(), OpenError> {
    let above = prefixes_above(&place.prefix);
    let found = remote.first(above.map(mark_of).collect());
    let found = found.map_err(|reason| place.system(reason))?;
    let mut above = prefixes_above(&place.prefix);
    if let Some(other) = above.find(|above| found.as_ref() == Some(&mark_of(above))) {
        return Err(place.overlaps(other));
    }
    match place.read_only {
        true => Ok(()),
        false => {
            let marked = remote.mark(mark_of(&place.prefix));
            marked.map_err(|reason| place.system(reason))
        }
    }
}

fn damaged(name: &str, reason: &'static str) -> StoreError {
    StoreError::Damaged {
        name: name.to_owned(),
        reason,
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
            let is_absent = |key: &&Key| {
                let slot = self.slots.get(*key);
                slot.is_some_and(|slot| slot.entry.is_none())
            };
            let absent: Vec<_> = keys.iter().filter(is_absent).cloned().collect();
            let faults = match absent.is_empty() {
                true => Vec::new(),
                false => self.fetch(absent)?,
            };
            for key in keys {
                if let Some((_, reason)) = faults.iter().find(|(faulty, _)| *faulty == key) {
                    return Err(damaged(&key.1, reason));
                }
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
            change: Some(Change::Removal(None)),
        });
        if !slot.is_visible() {
            *self.counts.entry(table).or_default() += 1;
        }
        slot.change = Some(Change::Put);
        self.changed_bytes += entry.weight() + name.len();
        self.cached_bytes += cached(table, &entry);
        let former = slot.entry.replace(entry);
        self.cached_bytes -= former.map_or(0, |former| cached(table, &former));
        self.changed.insert(key);
        Ok(())
    }

    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError> {
        self.refuse_if_read_only()?;
        self.hide(table, Box::from(name), None);
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
