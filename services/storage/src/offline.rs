// SPDX-License-Identifier: MIT OR Apache-2.0

//! The data of a storage that does not run, for copies of it.

use bytes::Bytes;
use zonda::bytes::Encoding;
use zonda_volume::{OpenError, Options, Store, StoreError, Value, Volume};

use crate::history::Limits;
use crate::ledger::{Effect, Ledger, Names, PART, Update};

/// Changes that are committed before more are taken.
const UNCOMMITTED_BYTES: usize = 16 << 20;

/// Former values as an import keeps them; the storage removes those beyond its own limits.
const UNLIMITED: Limits = Limits {
    count: usize::MAX / 2,
    bytes: usize::MAX,
    age: None,
};

/// The data of a storage that does not run.
pub struct Offline(Ledger);

impl Offline {
    /// Opens the data. `prefix` is the `strip_prefix` of the storage; former values are kept if
    /// `has_history`.
    ///
    /// # Errors
    /// The volume does not open, or its data is damaged.
    pub fn open(
        volume: &dyn Volume,
        options: &Options,
        prefix: Option<&str>,
        has_history: bool,
    ) -> Result<Offline, OpenError> {
        let store = volume.open(options)?;
        let names = Names::new(prefix.map(str::to_owned));
        let ledger = Ledger::open(store, names, has_history.then_some(UNLIMITED));
        let ledger = ledger.map_err(|error| OpenError::Damaged {
            place: options
                .text("dir")
                .ok()
                .flatten()
                .unwrap_or(volume.name())
                .to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Offline(ledger))
    }

    /// Shows the updates that give another storage the same content, the oldest first. Returns the
    /// number of entries whose names are no keys.
    ///
    /// # Errors
    /// The store cannot be read, or `visit` fails.
    ///
    /// # Blocking
    /// Until all of it is read: once for each half million entries.
    pub fn export<E: From<StoreError>>(
        &mut self,
        visit: impl FnMut(Update) -> Result<(), E>,
    ) -> Result<u64, E> {
        self.0.export(PART, visit)
    }

    /// Applies an update by the rules of a storage.
    ///
    /// # Errors
    /// The store fails, or does not take the key.
    ///
    /// # Blocking
    /// From time to time until the disk has confirmed.
    pub fn apply(&mut self, update: Update) -> Result<Effect, StoreError> {
        let effect = self.0.apply(update)?;
        self.commit_if_full()?;
        while self.0.is_spreading() {
            self.0.spread()?;
            self.commit_if_full()?;
        }
        Ok(effect)
    }

    fn commit_if_full(&mut self) -> Result<(), StoreError> {
        match self.0.store().uncommitted_bytes() > UNCOMMITTED_BYTES {
            true => self.0.store().commit(),
            false => Ok(()),
        }
    }

    /// Returns the store.
    pub fn store(&mut self) -> &mut dyn Store {
        self.0.store()
    }

    /// Commits and closes it.
    ///
    /// # Errors
    /// The disk fails.
    pub fn close(self) -> Result<(), StoreError> {
        self.0.into_store().close()
    }
}

/// Returns a value as a storage keeps it.
pub fn value(payload: &[u8], encoding: &Encoding) -> Value {
    Value {
        payload: Bytes::copy_from_slice(payload),
        encoding: match *encoding == Encoding::default() {
            true => Box::default(),
            false => encoding.to_string().into(),
        },
    }
}
