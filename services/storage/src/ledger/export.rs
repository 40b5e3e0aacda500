// SPDX-License-Identifier: MIT OR Apache-2.0

//! The updates that a store is the result of, in the order of their times.

use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use zonda::key_expr::KeyExpr;
use zonda::time::Timestamp;
use zonda_volume::{Entry, StoreError, Table};

use super::{Ledger, Names, Update, key_of_pattern};
use crate::history::{self, place_of};
use crate::patterns::Patterns;
use crate::spread::UNFINISHED;

/// Entries that are put into order at once: each pass over the store takes that many.
pub const PART: usize = 1 << 19;

/// An entry, by the time under which it is exported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    at: Timestamp,
    table: Table,
    name: String,
}

/// Meaning of an entry for an export.
enum Meaning {
    Update(Update),
    /// Other updates of the export have it as their result.
    Implied,
    /// Its name is that of no key.
    NoKey,
}

/// Returns the time under which an entry is exported: that of its last own update, if the update of
/// many keys that it has its state from is exported, too.
fn time_of(patterns: &Patterns, key: Option<&KeyExpr<'_>>, entry: &Entry) -> Timestamp {
    match key.is_some_and(|key| patterns.has(key, entry.at)) {
        true => entry.own,
        false => entry.at,
    }
}

fn key_of(names: &Names, table: Table, name: &str) -> Option<KeyExpr<'static>> {
    match table {
        Table::Live | Table::Deleted => names.key_of(name),
        Table::Past => names.key_of(history::name_of(name)?),
        Table::Patterns => key_of_pattern(name),
    }
}

impl Ledger {
    /// Shows the updates that give another store the same content, the oldest first, in passes of at
    /// most `most` entries. Returns the number of entries without a key.
    ///
    /// # Errors
    /// The store fails, or `visit` does.
    pub fn export<E: From<StoreError>>(
        &mut self,
        most: usize,
        mut visit: impl FnMut(Update) -> Result<(), E>,
    ) -> Result<u64, E> {
        let (mut last, mut without_key) = (None, 0);
        loop {
            let part = self.part(last.as_ref(), most)?;
            for place in &part {
                match self.meaning(place)? {
                    Meaning::Update(update) => visit(update)?,
                    Meaning::Implied => {}
                    Meaning::NoKey => without_key += 1,
                }
            }
            if part.len() < most {
                return Ok(without_key);
            }
            last = part.into_iter().next_back();
        }
    }

    /// Returns the oldest entries behind one.
    fn part(&mut self, last: Option<&Place>, most: usize) -> Result<Vec<Place>, StoreError> {
        let Ledger {
            store,
            names,
            patterns,
            spreads,
            ..
        } = self;
        let mut oldest = BinaryHeap::new();
        for table in Table::ALL {
            store.scan(table, "", &mut |name, entry| {
                if table == Table::Patterns && name.starts_with(UNFINISHED) {
                    return ControlFlow::Continue(());
                }
                let is_key = matches!(table, Table::Live | Table::Deleted);
                let key = is_key.then(|| names.key_of(name)).flatten();
                let key = key.as_ref();
                let at = match table {
                    Table::Live => time_of(patterns, key, &spreads.state(key, entry)),
                    Table::Deleted => time_of(patterns, key, &entry),
                    Table::Patterns | Table::Past => entry.at,
                };
                let name = name.to_owned();
                let place = Place { at, table, name };
                if last.is_none_or(|last| place > *last) {
                    oldest.push(place);
                }
                if oldest.len() > most {
                    oldest.pop();
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(oldest.into_sorted_vec())
    }

    fn meaning(&mut self, place: &Place) -> Result<Meaning, StoreError> {
        let Place { at, table, name } = place;
        let Some(key) = key_of(&self.names, *table, name) else {
            return Ok(Meaning::NoKey);
        };
        let Some(mut entry) = self.store.get(*table, name)? else {
            return Ok(Meaning::Implied);
        };
        if *table == Table::Live {
            entry = self.spreads.state(Some(&key), entry);
        }
        let is_implied = match table {
            // By its former value, which it has a newer one of many keys in place of.
            Table::Live if entry.at != *at && entry.value.is_some() => {
                let former = place_of(name, *at);
                self.store.get(Table::Past, &former)?.is_some()
            }
            Table::Past => {
                let name = history::name_of(name).unwrap_or_default();
                self.is_implied(name, &key, &entry)?
            }
            Table::Live | Table::Deleted | Table::Patterns => false,
        };
        Ok(match is_implied {
            true => Meaning::Implied,
            false => Meaning::Update(Update {
                key,
                at: *at,
                value: entry.value,
            }),
        })
    }

    /// Returns true if a former state of a key is not exported: if it is the last one, or comes from
    /// an update of many keys and could outlast what follows it.
    fn is_implied(
        &mut self,
        name: &str,
        key: &KeyExpr<'_>,
        former: &Entry,
    ) -> Result<bool, StoreError> {
        let live = self.store.get(Table::Live, name)?;
        let live = live.map(|entry| self.spreads.state(Some(key), entry));
        let is_last = |live: &Entry| live.at == former.at && live.value.is_some();
        if live.as_ref().is_some_and(is_last) {
            return Ok(true);
        }
        if former.own == former.at {
            return Ok(false);
        }
        let last = match live {
            Some(live) => Some(live),
            None => self.store.get(Table::Deleted, name)?,
        };
        let is_followed = |last: Entry| time_of(&self.patterns, Some(key), &last) > former.at;
        Ok(!last.is_some_and(is_followed))
    }
}
