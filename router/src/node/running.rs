// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configuration that a node runs with.

use zonda_transport::sync::{Mutex, MutexGuard, Rank};

use crate::config::Config;

/// The configuration that a node runs with.
pub(crate) struct Running {
    /// Held during a reload of the whole configuration, which may read files and look up names.
    turn: Mutex<()>,
    /// Held while the values and the filters change.
    values: Mutex<Config>,
}

impl Running {
    pub(crate) fn new(config: &Config) -> Running {
        Running {
            turn: Mutex::ranked(Rank::Renewal, ()),
            values: Mutex::ranked(Rank::Reload, config.values()),
        }
    }

    /// Waits until no other reload of the whole configuration is under way.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }

    /// Locks the values to change them.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Config> {
        self.values.lock()
    }

    /// Returns a copy of the values.
    pub(crate) fn values(&self) -> Config {
        self.values.lock().values()
    }

    /// Returns the paths of all keys with the values in force as JSON, secrets hidden.
    pub(crate) fn effective(&self) -> Vec<(String, String)> {
        let values = self.values.lock().effective().into_iter();
        values.map(|one| (one.key, one.value)).collect()
    }
}
