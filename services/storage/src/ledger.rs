// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rules of a storage: the result of a set of updates, in whatever order they arrive.
//!
//! The result is that of applying the updates in the order of their times, where an update with
//! wildcards changes the keys that have a value at its time. For each key it is enough to keep the
//! time of its last own update, the time of the update in force, and the value; for updates with
//! wildcards, the updates themselves.

use std::ops::ControlFlow;
use std::time::Duration;

use zonda::key_expr::{KeyExpr, keyexpr};
use zonda::time::{Ntp64, Timestamp};
use zonda_volume::{Entry, Store, StoreError, Table, Value};

use crate::history::{self, History, Limits};
use crate::patterns::{Pattern, Patterns};
use crate::spread::{Spread, Spreads, UNFINISHED};

mod export;
mod merge;
mod step;

pub use export::PART;
use step::Bound;

/// An update of a key, or of all keys that its wildcards cover.
#[derive(Debug, Clone)]
pub struct Update {
    /// The key, or key expression.
    pub key: KeyExpr<'static>,
    /// Its time.
    pub at: Timestamp,
    /// The new value; `None` for a deletion.
    pub value: Option<Value>,
}

/// Effect of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The storage has taken it.
    Taken,
    /// The storage had a newer one, or this one.
    Outdated,
    /// The storage has taken it, and forgotten the oldest update with wildcards for it.
    TakenForOldest,
}

/// The keys of a storage, which are stored without a common prefix.
#[derive(Debug, Clone, Default)]
pub struct Names {
    prefix: Option<String>,
}

impl Names {
    pub fn new(prefix: Option<String>) -> Names {
        Names { prefix }
    }

    /// Returns the name of a key: empty for the prefix itself, `None` for a key that does not have the prefix.
    pub fn name_of<'k>(&self, key: &'k str) -> Option<&'k str> {
        let Some(prefix) = &self.prefix else {
            return Some(key);
        };
        let rest = key.strip_prefix(prefix.as_str())?;
        match rest.strip_prefix('/') {
            Some(name) => Some(name),
            None => rest.is_empty().then_some(rest),
        }
    }

    /// Returns the key of a name; `None` for a name that is none.
    pub fn key_of(&self, name: &str) -> Option<KeyExpr<'static>> {
        let key = match (&self.prefix, name) {
            (None, name) => KeyExpr::new(name),
            (Some(prefix), "") => KeyExpr::new(prefix),
            (Some(prefix), name) => KeyExpr::new(format!("{prefix}/{name}")),
        };
        // A file that was put there by hand may have any name.
        let key = key.ok().filter(|key| !key.is_wild())?;
        Some(key.into_cloneable())
    }

    /// Returns the text that all names covered by a key expression begin with.
    fn common<'k>(&self, pattern: &'k keyexpr) -> &'k str {
        let literal = pattern.get_nonwild_prefix().map_or("", keyexpr::as_str);
        self.name_of(literal).unwrap_or("")
    }
}

/// A key with its state, and the name that it is stored under.
pub struct Found<'s> {
    pub name: &'s str,
    pub key: KeyExpr<'static>,
    pub entry: Entry,
}

/// The entries to look at: from a name on, and how many.
pub struct Span<'s> {
    pub from: &'s str,
    pub most: usize,
}

/// Place of a name in a table, as seen from the chunks that all wanted names begin with.
#[derive(PartialEq, Eq)]
enum Below {
    Yes,
    No,
    /// No name from there on is below them.
    Beyond,
}

fn below(name: &str, common: &str) -> Below {
    if common.is_empty() {
        return Below::Yes;
    }
    let Some(rest) = name.strip_prefix(common) else {
        return Below::Beyond;
    };
    match rest.as_bytes().first() {
        // The key itself, a value of its history, a key below it.
        None | Some(0 | b'/') => Below::Yes,
        Some(other) if *other > b'/' => Below::Beyond,
        Some(_) => Below::No,
    }
}

/// A store with the rules applied.
pub struct Ledger {
    store: Box<dyn Store>,
    names: Names,
    patterns: Patterns,
    history: Option<History>,
    spreads: Spreads,
    /// Bound of one step of a spread.
    bound: Bound,
}

/// First letters of the names of stored patterns.
const DELETES: char = 'D';
const PUTS: char = 'P';

fn pattern_name(pattern: &Pattern) -> String {
    let kind = pattern.value.as_ref().map_or(DELETES, |_| PUTS);
    format!("{kind}/{}", pattern.key)
}

/// Returns the key of a stored pattern; `None` for a name that another program has written.
fn key_of_pattern(name: &str) -> Option<KeyExpr<'static>> {
    KeyExpr::new(name.get(2..)?.to_owned()).ok()
}

impl Ledger {
    /// Reads the patterns of a store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn open(
        mut store: Box<dyn Store>,
        names: Names,
        history: Option<Limits>,
    ) -> Result<Ledger, StoreError> {
        let (mut patterns, mut spreads) = (Patterns::default(), Spreads::default());
        store.scan(Table::Patterns, "", &mut |name, entry| {
            let unfinished = name.strip_prefix(UNFINISHED);
            let unfinished = unfinished.and_then(|rest| Some(rest.split_once(':')?.1));
            if let Some(key) = key_of_pattern(unfinished.unwrap_or(name)) {
                let (at, value) = (entry.at, entry.value);
                let pattern = Pattern { key, at, value };
                match unfinished {
                    Some(_) => spreads.add(Spread::new(pattern)),
                    None => drop(patterns.insert(pattern)),
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(Ledger {
            store,
            names,
            patterns,
            history: history.map(History::new),
            spreads,
            bound: Bound::default(),
        })
    }

    /// Returns true if it keeps former values.
    pub fn has_history(&self) -> bool {
        self.history.is_some()
    }

    /// Adds a state to the history, if there is one and the state has a value.
    fn remember(&mut self, name: &str, state: &Entry) -> Result<(), StoreError> {
        match &mut self.history {
            Some(history) if state.value.is_some() => {
                history.add(&mut *self.store, name, state.clone())
            }
            _ => Ok(()),
        }
    }

    pub fn store(&mut self) -> &mut dyn Store {
        &mut *self.store
    }

    pub fn into_store(self) -> Box<dyn Store> {
        self.store
    }

    /// Returns the number of updates with wildcards that it keeps.
    pub fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// Applies an update.
    ///
    /// # Errors
    /// The store fails, or does not take the key.
    pub fn apply(&mut self, update: Update) -> Result<Effect, StoreError> {
        if self.store.is_read_only() {
            return Err(StoreError::ReadOnly);
        }
        match update.key.is_wild() {
            true => self.apply_to_many(update),
            false => self.apply_to_one(update),
        }
    }

    fn apply_to_one(&mut self, update: Update) -> Result<Effect, StoreError> {
        let Update { key, at, value } = update;
        let name = self.names.name_of(key.as_str()).ok_or(StoreError::Name {
            name: key.to_string(),
            reason: "it does not begin with strip_prefix",
        })?;
        self.catch_up(name, &key)?;
        let live = self.store.get(Table::Live, name)?;
        let is_live = live.is_some();
        let known = match live {
            Some(live) => Some(live),
            None => self.store.get(Table::Deleted, name)?,
        };
        let was_deleted = known.is_some() && !is_live;
        let covering = self.patterns.covering(&key, at, value.is_some());
        let covered = covering.map(|pattern| Entry {
            own: at,
            at: pattern.at,
            value: pattern.value.clone(),
        });
        let entry = Entry::new(at, value);
        self.remember(name, &entry)?;
        if known.is_some_and(|known| known.own >= at) {
            return Ok(Effect::Outdated);
        }
        if let Some(covered) = &covered {
            self.remember(name, covered)?;
        }
        let entry = covered.unwrap_or(entry);
        self.write(name, entry, is_live, was_deleted)?;
        Ok(Effect::Taken)
    }

    /// Writes the state of a name into its table, and removes it from the other one.
    fn write(
        &mut self,
        name: &str,
        entry: Entry,
        is_live: bool,
        was_deleted: bool,
    ) -> Result<(), StoreError> {
        let is_value = entry.value.is_some();
        let (to, from) = match is_value {
            true => (Table::Live, Table::Deleted),
            false => (Table::Deleted, Table::Live),
        };
        self.store.put(to, name, entry)?;
        match (is_value, is_live, was_deleted) {
            (true, _, true) | (false, true, _) => self.store.remove(from, name),
            _ => Ok(()),
        }
    }

    fn apply_to_many(&mut self, update: Update) -> Result<Effect, StoreError> {
        let Update { key, at, value } = update;
        let pattern = Pattern { key, at, value };
        self.make_room()?;
        let Some(forgotten) = self.patterns.insert(pattern.clone()) else {
            return Ok(Effect::Outdated);
        };
        // It counts from now on, also if the store fails.
        self.spreads.add(Spread::new(pattern.clone()));
        let is_full = forgotten
            .iter()
            .any(|gone| !gone.key.intersects(&pattern.key));
        for gone in &forgotten {
            self.store.remove(Table::Patterns, &pattern_name(gone))?;
        }
        let stored = Entry::new(at, pattern.value.clone());
        self.store
            .put(Table::Patterns, &pattern_name(&pattern), stored)?;
        // The keys that had a value at its time.
        self.begin()?;
        match is_full {
            true => Ok(Effect::TakenForOldest),
            false => Ok(Effect::Taken),
        }
    }

    /// Returns the state of a key that has a value.
    ///
    /// # Errors
    /// The store fails.
    pub fn get(&mut self, key: &KeyExpr<'_>) -> Result<Option<Entry>, StoreError> {
        match self.names.name_of(key.as_str()) {
            Some(name) => {
                let stored = self.store.get(Table::Live, name)?;
                Ok(stored.and_then(|entry| self.spreads.seen(key, entry)))
            }
            None => Ok(None),
        }
    }

    /// Shows the entries of a table on keys that a key expression covers, until `visit` breaks or the
    /// span ends: of [`Table::Live`] those that have a value, of [`Table::Past`] the values of a
    /// history. Returns the name to continue from at the end of the span.
    ///
    /// # Errors
    /// The store fails.
    pub fn matching(
        &mut self,
        table: Table,
        pattern: &keyexpr,
        span: Span<'_>,
        visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<Option<String>, StoreError> {
        if table != Table::Live || self.spreads.is_empty() {
            return self.stored(table, pattern, span, visit);
        }
        let spreads = std::mem::take(&mut self.spreads);
        let next = self.stored(table, pattern, span, &mut |found| {
            let Found { name, key, entry } = found;
            match spreads.seen(&key, entry) {
                Some(entry) => visit(Found { name, key, entry }),
                None => ControlFlow::Continue(()),
            }
        });
        self.spreads = spreads;
        next
    }

    /// Shows the entries as the store has them, also where an update has not reached them.
    fn stored(
        &mut self,
        table: Table,
        pattern: &keyexpr,
        span: Span<'_>,
        visit: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<Option<String>, StoreError> {
        let Ledger { store, names, .. } = self;
        let common = names.common(pattern);
        let (mut seen, mut next) = (0, None);
        store.scan(table, span.from.max(common), &mut |place, entry| {
            let is_below = match below(place, common) {
                Below::Beyond => return ControlFlow::Break(()),
                is_below => is_below == Below::Yes,
            };
            if seen == span.most {
                next = Some(place.to_owned());
                return ControlFlow::Break(());
            }
            seen += 1;
            let name = match table {
                Table::Past => history::name_of(place),
                _ => Some(place),
            };
            let name = name.filter(|_| is_below);
            let key = name.and_then(|name| names.key_of(name));
            match key.filter(|key| pattern.intersects(key)) {
                Some(key) => visit(Found {
                    name: place,
                    key,
                    entry,
                }),
                None => ControlFlow::Continue(()),
            }
        })?;
        Ok(next)
    }

    /// Forgets deletions and updates with wildcards that are older than `limit`: of the deletions
    /// at most `most`, from a name on. Returns the name to continue from, if there are more.
    ///
    /// # Errors
    /// The store fails.
    pub fn forget(
        &mut self,
        limit: Ntp64,
        from: &str,
        most: usize,
    ) -> Result<Option<String>, StoreError> {
        for gone in self.patterns.expire(limit) {
            self.store.remove(Table::Patterns, &pattern_name(&gone))?;
        }
        history::remove_older(&mut *self.store, Table::Deleted, limit, from, most)
    }

    /// Removes former values that are too old at this time, as [`forget`](Ledger::forget) does with
    /// deletions.
    ///
    /// # Errors
    /// The store fails.
    pub fn expire(
        &mut self,
        now: Duration,
        from: &str,
        most: usize,
    ) -> Result<Option<String>, StoreError> {
        match &self.history {
            Some(history) => history.expire(&mut *self.store, now, from, most),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
