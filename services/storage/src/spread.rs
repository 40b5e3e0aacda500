// SPDX-License-Identifier: MIT OR Apache-2.0

//! Updates of many keys that have not reached all of them yet.
//!
//! Such an update changes its keys in steps, so that a large storage answers between them. From its
//! arrival on, each key is read as the update leaves it, and changed so before another update of the
//! key. What is not finished is in the store, too: a storage continues it after a restart.

use std::collections::VecDeque;

use zonda::key_expr::KeyExpr;
use zonda_volume::Entry;

use crate::patterns::Pattern;

/// First letter of the names of stored updates that are not finished.
pub const UNFINISHED: char = 'U';

/// An update that has not reached all its keys.
#[derive(Debug, Clone)]
pub struct Spread {
    pub pattern: Pattern,
    /// Name to continue from.
    pub from: String,
}

impl Spread {
    pub fn new(pattern: Pattern) -> Spread {
        Spread {
            pattern,
            from: String::new(),
        }
    }

    /// Returns the name that it is stored under until it is finished.
    pub fn stored_name(&self, pattern_name: &str) -> String {
        let at = self.pattern.at;
        let (time, id) = (at.time().as_u64(), at.get_id());
        format!("{UNFINISHED}{time:016x}{id}:{pattern_name}")
    }
}

/// The updates that have not reached all their keys, in the order of arrival.
#[derive(Debug, Default)]
pub struct Spreads(VecDeque<Spread>);

impl Spreads {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn add(&mut self, spread: Spread) {
        self.0.push_back(spread);
    }

    pub fn get(&self, index: usize) -> Option<&Spread> {
        self.0.get(index)
    }

    /// Sets the name to continue one from; removes one that is finished.
    pub fn set(&mut self, index: usize, next: Option<String>) {
        match (next, self.0.get_mut(index)) {
            (Some(from), Some(spread)) => spread.from = from,
            _ => drop(self.0.remove(index)),
        }
    }

    /// Returns the state of a key with a value as the updates leave it.
    pub fn state(&self, key: Option<&KeyExpr<'_>>, entry: Entry) -> Entry {
        let last = key.and_then(|key| self.changes(key, &entry).pop());
        last.unwrap_or(entry)
    }

    /// Returns the state in which a key with a value is seen; `None` if it was deleted.
    pub fn seen(&self, key: &KeyExpr<'_>, entry: Entry) -> Option<Entry> {
        Some(self.state(Some(key), entry)).filter(|entry| entry.value.is_some())
    }

    /// Returns the states that a key with a value gets, one after the other, by the updates that
    /// have not reached it.
    pub fn changes(&self, key: &KeyExpr<'_>, entry: &Entry) -> Vec<Entry> {
        let mut states: Vec<Entry> = Vec::new();
        for spread in &self.0 {
            let state = states.last().unwrap_or(entry);
            if state.value.is_none() {
                break;
            }
            if let Some(next) = spread.pattern.change(key, state) {
                states.push(next);
            }
        }
        states
    }
}
