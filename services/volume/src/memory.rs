// SPDX-License-Identifier: MIT OR Apache-2.0

//! Volume `memory`: entries in sorted maps, gone with the process.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use crate::{Durability, Entry, OpenError, Options, Store, StoreError, Table, Volume};

/// The volume `memory`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory;

impl Volume for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn check(&self, options: &Options) -> Result<(), OpenError> {
        options.allow(&[])
    }

    fn open(&self, options: &Options) -> Result<Box<dyn Store>, OpenError> {
        self.check(options)?;
        Ok(Box::<Maps>::default())
    }
}

#[derive(Default)]
struct Maps {
    live: BTreeMap<Box<str>, Entry>,
    deleted: BTreeMap<Box<str>, Entry>,
    patterns: BTreeMap<Box<str>, Entry>,
    past: BTreeMap<Box<str>, Entry>,
}

impl Maps {
    fn table(&mut self, table: Table) -> &mut BTreeMap<Box<str>, Entry> {
        match table {
            Table::Live => &mut self.live,
            Table::Deleted => &mut self.deleted,
            Table::Patterns => &mut self.patterns,
            Table::Past => &mut self.past,
        }
    }
}

impl Store for Maps {
    fn durability(&self) -> Option<Durability> {
        None
    }

    fn get(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        Ok(self.table(table).get(name).cloned())
    }

    fn scan(
        &mut self,
        table: Table,
        from: &str,
        visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let range = (Bound::Included(from), Bound::Unbounded);
        for (name, entry) in self.table(table).range::<str, _>(range) {
            if visit(name, entry.clone()).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn put(&mut self, table: Table, name: &str, entry: Entry) -> Result<(), StoreError> {
        let table = self.table(table);
        match table.get_mut(name) {
            Some(known) => *known = entry,
            None => drop(table.insert(name.into(), entry)),
        }
        Ok(())
    }

    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError> {
        self.table(table).remove(name);
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn uncommitted_bytes(&self) -> usize {
        0
    }

    fn len(&mut self, table: Table) -> Result<u64, StoreError> {
        Ok(self.table(table).len() as u64)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}
