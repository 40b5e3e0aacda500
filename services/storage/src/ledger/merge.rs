// SPDX-License-Identifier: MIT OR Apache-2.0

//! States of keys that another replica has.

use zonda::key_expr::KeyExpr;
use zonda_volume::{Entry, StoreError, Table};

use super::{Effect, Ledger, Update, pattern_name};
use crate::patterns::Pattern;

impl Ledger {
    /// Returns the last state of a name, of a value or a deletion.
    ///
    /// # Errors
    /// The store fails.
    pub fn state(&mut self, name: &str) -> Result<Option<Entry>, StoreError> {
        match self.store.get(Table::Live, name)? {
            Some(live) => Ok(Some(live)),
            None => self.store.get(Table::Deleted, name),
        }
    }

    /// Returns the key that is stored under a name.
    pub fn key_of(&self, name: &str) -> Option<KeyExpr<'static>> {
        self.names.key_of(name)
    }

    /// Returns true if an update with wildcards has no effect here, or has had it.
    ///
    /// # Errors
    /// The store fails.
    pub fn knows(&mut self, update: &Update) -> Result<bool, StoreError> {
        let Update { key, at, value } = update.clone();
        let pattern = Pattern { key, at, value };
        if self.patterns.is_void(&pattern) {
            return Ok(true);
        }
        let stored = self.store.get(Table::Patterns, &pattern_name(&pattern))?;
        Ok(stored.is_some_and(|stored| stored.at >= at))
    }

    /// Takes the state that another replica has for a key, if it is newer: that of a later update of
    /// the key, or of the same update and a later one with wildcards.
    ///
    /// # Errors
    /// The store fails, or does not take the key.
    pub fn merge(&mut self, key: &KeyExpr<'_>, entry: Entry) -> Result<Effect, StoreError> {
        if self.store.is_read_only() {
            return Err(StoreError::ReadOnly);
        }
        let name = self.names.name_of(key.as_str()).ok_or(StoreError::Name {
            name: key.to_string(),
            reason: "it does not begin with strip_prefix",
        })?;
        self.catch_up(name, key)?;
        let known = self.state(name)?;
        let is_live = known.as_ref().is_some_and(|known| known.value.is_some());
        let was_deleted = known.is_some() && !is_live;
        let entry = self.covered(key, entry);
        if known.is_some_and(|known| (known.own, known.at) >= (entry.own, entry.at)) {
            return Ok(Effect::Outdated);
        }
        self.remember(name, &entry)?;
        self.write(name, entry, is_live, was_deleted)?;
        Ok(Effect::Taken)
    }

    /// Returns the state of a key after the updates with wildcards that are known here.
    fn covered(&self, key: &KeyExpr<'_>, entry: Entry) -> Entry {
        let is_own = entry.own == entry.at;
        // A key that an update with wildcards has deleted had a value.
        let is_put = entry.value.is_some() || !is_own;
        let Some(pattern) = self.patterns.covering(key, entry.own, is_put) else {
            return entry;
        };
        let covered = Entry {
            own: entry.own,
            at: pattern.at,
            value: pattern.value.clone(),
        };
        if is_own {
            return covered;
        }
        // Both states are of updates with wildcards: a deletion is final, else the later one counts.
        match (covered.value.is_none(), entry.value.is_none()) {
            (true, false) => covered,
            (false, true) => entry,
            _ if covered.at > entry.at => covered,
            _ => entry,
        }
    }
}
