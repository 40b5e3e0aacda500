// SPDX-License-Identifier: MIT OR Apache-2.0

//! A store whose entries are in the index of a replica.

use std::ops::ControlFlow;
use std::sync::Arc;

use parking_lot::Mutex;
use zonda_volume::{Compacted, Durability, Entry, Store, StoreError, Table};

use super::index::{Index, event_of};

/// A store that adds what is written to an index.
pub struct Indexed {
    /// Also of the replica, which returns it when the storage ends.
    inner: Arc<Mutex<Box<dyn Store>>>,
    index: Arc<Mutex<Index>>,
}

impl Indexed {
    /// Adds all entries of a store to the index.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn new(
        inner: Arc<Mutex<Box<dyn Store>>>,
        index: Arc<Mutex<Index>>,
    ) -> Result<Self, StoreError> {
        for table in [Table::Live, Table::Deleted, Table::Patterns] {
            let mut index = index.lock();
            inner.lock().scan(table, "", &mut |name, entry| {
                index.add(table, name, &entry);
                ControlFlow::Continue(())
            })?;
        }
        Ok(Indexed { inner, index })
    }

    /// Returns the entry that a change replaces, if it is in the index.
    fn former(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        match table {
            Table::Past => Ok(None),
            _ => self.inner.lock().get(table, name),
        }
    }
}

impl Store for Indexed {
    fn durability(&self) -> Option<Durability> {
        self.inner.lock().durability()
    }

    fn is_read_only(&self) -> bool {
        self.inner.lock().is_read_only()
    }

    fn get(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        self.inner.lock().get(table, name)
    }

    fn scan(
        &mut self,
        table: Table,
        from: &str,
        visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.inner.lock().scan(table, from, visit)
    }

    fn put(&mut self, table: Table, name: &str, entry: Entry) -> Result<(), StoreError> {
        let former = self.former(table, name)?;
        let event = event_of(table, name, &entry);
        self.inner.lock().put(table, name, entry)?;
        let mut index = self.index.lock();
        if let Some(former) = former {
            index.remove(table, name, &former);
        }
        if let Some(event) = event {
            index.add_event(table, name, event);
        }
        Ok(())
    }

    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError> {
        let former = self.former(table, name)?;
        self.inner.lock().remove(table, name)?;
        if let Some(former) = former {
            self.index.lock().remove(table, name, &former);
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.inner.lock().commit()
    }

    fn uncommitted_bytes(&self) -> usize {
        self.inner.lock().uncommitted_bytes()
    }

    fn len(&mut self, table: Table) -> Result<u64, StoreError> {
        self.inner.lock().len(table)
    }

    fn verify(&mut self) -> Result<(), StoreError> {
        self.inner.lock().verify()
    }

    fn compact(&mut self) -> Result<Option<Compacted>, StoreError> {
        self.inner.lock().compact()
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        // The replica has the store, and its storage closes it.
        self.inner.lock().commit()
    }
}
