// SPDX-License-Identifier: MIT OR Apache-2.0

//! Former values of keys, for a storage with a history.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use zonda::time::{Ntp64, Timestamp};
use zonda_volume::{Entry, Store, StoreError, Table};

/// Divides the name of a key from the time of a value.
const DIVIDER: char = '\0';

/// Keys of which the puts since the last search for superfluous values are counted.
const COUNTED_MAX: usize = 1 << 16;

/// Limits of the values that are kept: of each key, and in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub count: usize,
    pub bytes: usize,
    pub age: Option<Duration>,
}

/// The former values of the keys of a store.
pub struct History {
    limits: Limits,
    /// Values of each key that were added since its superfluous ones were removed.
    added: HashMap<Box<str>, usize>,
}

/// Returns the text that the names of all values of a key begin with.
pub fn values_of(name: &str) -> String {
    format!("{name}{DIVIDER}")
}

/// Returns the name of the value of a key at a time.
pub fn place_of(name: &str, at: Timestamp) -> String {
    let (time, id) = (at.time().as_u64(), at.get_id());
    format!("{}{time:016x}{id}", values_of(name))
}

/// Returns the name of the key of a value.
pub fn name_of(value: &str) -> Option<&str> {
    value.rsplit_once(DIVIDER).map(|(name, _)| name)
}

impl History {
    pub fn new(limits: Limits) -> History {
        History {
            limits,
            added: HashMap::new(),
        }
    }

    /// Adds a state with a value, and from time to time removes the oldest ones beyond the limits: at most an
    /// eighth more than they permit is kept.
    pub fn add(
        &mut self,
        store: &mut dyn Store,
        name: &str,
        entry: Entry,
    ) -> Result<(), StoreError> {
        let place = place_of(name, entry.at);
        store.put(Table::Past, &place, entry)?;
        if self.added.len() >= COUNTED_MAX {
            self.added.clear();
        }
        let added = self.added.entry(name.into()).or_insert(self.limits.count);
        *added += 1;
        if *added > self.limits.count / 8 {
            *added = 0;
            self.trim(store, name)?;
        }
        Ok(())
    }

    fn trim(&self, store: &mut dyn Store, name: &str) -> Result<(), StoreError> {
        let values = values_of(name);
        let mut kept = Vec::new();
        store.scan(Table::Past, &values, &mut |place, entry| {
            if !place.starts_with(&values) {
                return ControlFlow::Break(());
            }
            kept.push((place.to_owned(), entry.weight()));
            ControlFlow::Continue(())
        })?;
        let (mut count, mut bytes) = (0, 0);
        for (place, weight) in kept.into_iter().rev() {
            (count, bytes) = (count + 1, bytes + weight);
            if count > self.limits.count || bytes > self.limits.bytes {
                store.remove(Table::Past, &place)?;
            }
        }
        Ok(())
    }

    /// Removes values that are too old at this time, of at most `most`, from one on. Returns the one
    /// to continue from, if there are more.
    pub fn expire(
        &self,
        store: &mut dyn Store,
        now: Duration,
        from: &str,
        most: usize,
    ) -> Result<Option<String>, StoreError> {
        let Some(age) = self.limits.age else {
            return Ok(None);
        };
        let limit = Ntp64::from_unix(now.saturating_sub(age));
        remove_older(store, Table::Past, limit, from, most)
    }
}

/// Removes the entries of a table that are older than `limit`, of at most `most`, from a name on.
/// Returns the name to continue from, if there are more.
pub fn remove_older(
    store: &mut dyn Store,
    table: Table,
    limit: Ntp64,
    from: &str,
    most: usize,
) -> Result<Option<String>, StoreError> {
    let (mut old, mut seen, mut next) = (Vec::new(), 0, None);
    store.scan(table, from, &mut |name, entry| {
        if seen == most {
            next = Some(name.to_owned());
            return ControlFlow::Break(());
        }
        seen += 1;
        if entry.at.time() < limit {
            old.push(name.to_owned());
        }
        ControlFlow::Continue(())
    })?;
    for name in old {
        store.remove(table, &name)?;
    }
    Ok(next)
}
