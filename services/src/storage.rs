// SPDX-License-Identifier: MIT OR Apache-2.0

//! Service `storage`: the storages of `plugins/storage_manager`.

use std::sync::Arc;

use zonda::session::{Sample, ServedPlugin};
use zonda::{Config, Session, Wait};
use zonda_storage::{Counters, SECTION, StorageError, Storages};

use crate::{Running, Service, Start, StartError};

/// The plugin of the reference whose work it does.
const PLUGIN: &str = "storage_manager";

/// The service.
pub(crate) struct StorageManager;

/// The service while it runs.
struct Serving {
    storages: Arc<Storages>,
    counters: Counters,
    session: Session,
    /// Changes of the configuration reach the storages until it is dropped.
    _served: ServedPlugin,
}

impl From<StorageError> for StartError {
    fn from(error: StorageError) -> StartError {
        match error {
            StorageError::Config(text) => StartError::Config(text),
            error => StartError::System(format!("`{SECTION}`: {error}")),
        }
    }
}

/// Returns the section of a configuration; an empty one if there is none.
fn section(config: &Config) -> String {
    let json = config.plugin_json(PLUGIN);
    json.unwrap_or_else(|| "{}".to_owned())
}

impl Service for StorageManager {
    fn name(&self) -> &'static str {
        "storage"
    }

    fn is_wanted(&self, config: &Config) -> Result<bool, StartError> {
        let settings = config.settings();
        let may_be_written = settings.adminspace_enabled && settings.adminspace_writable;
        let Some(json) = config.plugin_json(PLUGIN) else {
            // Storages can be added later.
            return Ok(may_be_written && settings.timestamping);
        };
        zonda_storage::check(&json)?;
        match settings.timestamping {
            true => Ok(true),
            false => Err(StartError::Config(format!(
                "`{SECTION}` needs timestamps, and `timestamping/enabled` is false for a {}; set it to true",
                config.mode()
            ))),
        }
    }

    fn is_required(&self, config: &Config) -> bool {
        zonda_storage::is_required(&section(config))
    }

    fn look(&self, config: &Config) -> Result<(), StartError> {
        Ok(zonda_storage::look(&section(config))?)
    }

    fn start(&self, start: &Start<'_>) -> Result<Box<dyn Running>, StartError> {
        let (session, config) = (start.session, start.config);
        let mut storages = Storages::start(session, &section(config))?;
        let settings = config.settings();
        if settings.adminspace_enabled && settings.adminspace_readable {
            storages.answer_status()?;
        }
        let counters = storages.counters();
        let of_all = counters.clone();
        start.counters.add(move || of_all.samples());
        let storages = Arc::new(storages);
        let of_change = Arc::downgrade(&storages);
        let served = session.serve_plugin(PLUGIN, move |config| match of_change.upgrade() {
            Some(storages) => {
                let changed = storages.change(&section(config));
                changed.map_err(|error| StartError::from(error).to_string())
            }
            None => Ok(()),
        });
        Ok(Box::new(Serving {
            storages,
            counters,
            session: session.clone(),
            _served: served,
        }))
    }
}

impl Running for Serving {
    fn name(&self) -> &'static str {
        StorageManager.name()
    }

    fn status(&self) -> String {
        self.storages.status()
    }

    fn metrics(&self) -> Vec<Sample> {
        self.counters.samples()
    }

    fn stop(self: Box<Self>) {
        self.storages.stop();
        // A failure is ignored: the node may be closed already.
        let _ = self.session.close().wait();
    }
}
