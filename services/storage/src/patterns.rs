// SPDX-License-Identifier: MIT OR Apache-2.0

//! Updates of keys with wildcards, kept so that older updates that come later yield to them.

use zonda::key_expr::KeyExpr;
use zonda::time::{Ntp64, Timestamp};
use zonda_volume::{Entry, Value};

/// Limit of the updates that one storage keeps; the oldest one is forgotten first.
pub const PATTERNS_MAX: usize = 4096;

/// An update of all keys that a key expression with wildcards covers.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    pub key: KeyExpr<'static>,
    pub at: Timestamp,
    /// The new value; `None` for a deletion.
    pub value: Option<Value>,
}

impl Pattern {
    /// Returns the state that it gives a key with a value; `None` if it leaves the key as it is.
    pub fn change(&self, key: &KeyExpr<'_>, entry: &Entry) -> Option<Entry> {
        let is_older = match self.value {
            None => entry.own <= self.at,
            Some(_) => entry.own <= self.at && entry.at < self.at,
        };
        let is_covered = is_older && self.key.intersects(key);
        is_covered.then(|| Entry {
            own: entry.own,
            at: self.at,
            value: self.value.clone(),
        })
    }

    /// Returns true if `older` has no effect beside this one.
    fn overrides(&self, older: &Pattern) -> bool {
        let is_stronger = self.value.is_none() || older.value.is_some();
        is_stronger && self.at >= older.at && self.key.includes(&older.key)
    }
}

/// The updates that a storage keeps, the newest first.
#[derive(Debug, Default)]
pub struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Returns true if an update has no effect beside the known ones.
    pub fn is_void(&self, new: &Pattern) -> bool {
        self.0.iter().any(|known| known.overrides(new))
    }

    /// Adds an update, and returns the ones to forget; `None` if a newer one makes it void.
    pub fn insert(&mut self, new: Pattern) -> Option<Vec<Pattern>> {
        if self.is_void(&new) {
            return None;
        }
        let void = |known: &mut Pattern| new.overrides(known);
        let mut gone: Vec<Pattern> = self.0.extract_if(.., void).collect();
        let place = self.0.partition_point(|known| known.at > new.at);
        self.0.insert(place, new);
        if self.0.len() > PATTERNS_MAX {
            gone.extend(self.0.pop());
        }
        Some(gone)
    }

    /// Returns the update that an update of `key` at this time yields to: the oldest deletion since
    /// then, else for a value the newest value since then.
    pub fn covering(&self, key: &KeyExpr<'_>, at: Timestamp, is_put: bool) -> Option<&Pattern> {
        let newer = self.0.iter().take_while(|pattern| pattern.at >= at);
        let (mut deletion, mut value) = (None, None);
        for pattern in newer.filter(|pattern| pattern.key.intersects(key)) {
            match pattern.value {
                None => deletion = Some(pattern),
                Some(_) if is_put => value = value.or(Some(pattern)),
                Some(_) => {}
            }
        }
        deletion.or(value)
    }

    /// Returns true if it has an update of this time that covers the key.
    pub fn has(&self, key: &KeyExpr<'_>, at: Timestamp) -> bool {
        let is_it = |pattern: &Pattern| pattern.at == at && pattern.key.intersects(key);
        self.0.iter().any(is_it)
    }

    /// Removes the updates that are older than this time, and returns them.
    pub fn expire(&mut self, limit: Ntp64) -> Vec<Pattern> {
        let kept = self.0.partition_point(|pattern| pattern.at.time() >= limit);
        self.0.split_off(kept)
    }

    /// Returns the number of updates.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
