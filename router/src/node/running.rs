// SPDX-License-Identifier: MIT OR Apache-2.0

//! Configuration that a node runs with.

use zonda_transport::sync::{Mutex, MutexGuard, Rank};

use super::plugins::Plugins;
use crate::config::Config;

/// The configuration that a node runs with.
pub(crate) struct Running {
    /// Held during a reload of the whole configuration, which may read files and look up names, and
    /// while a program takes over the configuration of a plugin.
    turn: Mutex<()>,
    /// Held while the values and the filters change.
    values: Mutex<Config>,
    plugins: Plugins,
}

impl Running {
    pub(crate) fn new(config: &Config) -> Running {
        Running {
            turn: Mutex::ranked(Rank::Renewal, ()),
            values: Mutex::ranked(Rank::Reload, config.values()),
            plugins: Plugins::default(),
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

    /// Returns the plugins whose work the program does.
    pub(crate) fn plugins(&self) -> &Plugins {
        &self.plugins
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
