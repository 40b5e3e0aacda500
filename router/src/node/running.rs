// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configuration that a node runs with.

use zonda_transport::sync::{Mutex, MutexGuard, Rank};

use crate::config::Config;

/// The configuration that a node runs with. The lock is held during a reload.
pub(crate) struct Running(Mutex<Config>);

impl Running {
    pub(crate) fn new(config: &Config) -> Running {
        Running(Mutex::ranked(Rank::Reload, config.values()))
    }

    /// Locks it for a reload.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Config> {
        self.0.lock()
    }

    /// Returns the paths of all keys with the values in force as JSON, secrets hidden.
    pub(crate) fn effective(&self) -> Vec<(String, String)> {
        let values = self.0.lock().effective().into_iter();
        values.map(|one| (one.key, one.value)).collect()
    }
}
