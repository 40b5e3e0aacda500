// SPDX-License-Identifier: MIT OR Apache-2.0

//! Plugins whose work the program does: it takes over changes of their configurations.

use std::{sync::Arc, time::Instant};

use zonda_transport::{log_limit::LogLimit, sync::Mutex};

use crate::config::{Config, ConfigError, differing_plugins, is_of_plugins};

/// Function that takes over the configuration of a plugin, or refuses it in one line.
pub(crate) type TakeOver = Arc<dyn Fn(&Config) -> Result<(), String> + Send + Sync>;

/// A plugin whose work the program does.
struct Served {
    plugin: &'static str,
    take_over: TakeOver,
}

/// The plugins whose work the program does.
#[derive(Default)]
pub(crate) struct Plugins(Mutex<Vec<Served>>);

impl Plugins {
    /// Adds a plugin, in place of a former one of its name.
    pub(crate) fn add(&self, plugin: &'static str, take_over: TakeOver) {
        let mut served = self.0.lock();
        served.retain(|served| served.plugin != plugin);
        served.push(Served { plugin, take_over });
    }

    /// Removes a plugin.
    pub(crate) fn remove(&self, plugin: &str) {
        self.0.lock().retain(|served| served.plugin != plugin);
    }

    /// Returns the names.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.lock().iter().map(|served| served.plugin).collect()
    }

    /// Returns true if a write of this key, or of the whole configuration, may be one that a
    /// plugin's program takes over, which may wait for a disk.
    pub(crate) fn may_take(&self, key: &str) -> bool {
        (key.is_empty() || is_of_plugins(key)) && !self.0.lock().is_empty()
    }

    /// Returns true if two configurations differ in plugins that are all in this list, or that the
    /// program does not have.
    pub(crate) fn take_all(&self, now: &Config, next: &Config) -> bool {
        let names = self.names();
        let differing = differing_plugins(now, next);
        let is_taken = |name: &String| {
            names.contains(&name.as_str()) || next.is_idle_plugin(&format!("plugins/{name}"))
        };
        differing.iter().all(is_taken)
    }

    /// Has each program take over what differs of its plugin. If one refuses, those before it get
    /// their former configuration again.
    ///
    /// # Errors
    /// The reason of the first one that refuses.
    ///
    /// # Blocking
    /// Until the programs have done so.
    pub(crate) fn hand_over(&self, now: &Config, next: &Config) -> Result<(), ConfigError> {
        let differing = differing_plugins(now, next);
        let take_over = |name: &String| {
            let served = self.0.lock();
            let found = served.iter().find(|served| served.plugin == name);
            found.map(|served| Arc::clone(&served.take_over))
        };
        let all: Vec<TakeOver> = differing.iter().filter_map(take_over).collect();
        for (at, take_over) in all.iter().enumerate() {
            if let Err(reason) = take_over(next) {
                for before in all.iter().take(at) {
                    before(now).unwrap_or_else(|error| log_failure(&error));
                }
                return Err(ConfigError::Combination { reason });
            }
        }
        Ok(())
    }
}

fn log_failure(error: &str) {
    static LIMIT: LogLimit = LogLimit::new();
    if let Some(left_out) = LIMIT.admit(Instant::now()) {
        tracing::error!("a plugin does not return to its configuration: {error}{left_out}");
    }
}
