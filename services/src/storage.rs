// SPDX-License-Identifier: MIT OR Apache-2.0

//! Service `storage`: the storages of `plugins/storage_manager`.

use zonda::session::Sample;
use zonda::{Config, Session, Wait};
use zonda_storage::{Counters, SECTION, StorageError, Storages};

use crate::{Running, Service, Start, StartError};

/// The service.
pub(crate) struct StorageManager;

/// The service while it runs.
struct Serving {
    storages: Storages,
    counters: Counters,
    session: Session,
}

impl From<StorageError> for StartError {
    fn from(error: StorageError) -> StartError {
        match error {
            StorageError::Config(text) => StartError::Config(text),
            error => StartError::System(format!("`{SECTION}`: {error}")),
        }
    }
}

impl Service for StorageManager {
    fn name(&self) -> &'static str {
        "storage"
    }

    fn is_wanted(&self, config: &Config) -> Result<bool, StartError> {
        let Some(json) = config.plugin_json("storage_manager") else {
            return Ok(false);
        };
        zonda_storage::check(&json)?;
        match config.settings().timestamping {
            true => Ok(true),
            false => Err(StartError::Config(format!(
                "`{SECTION}` needs timestamps, and `timestamping/enabled` is false for a {}; set it to true",
                config.mode()
            ))),
        }
    }

    fn is_required(&self, config: &Config) -> bool {
        let json = config.plugin_json("storage_manager").unwrap_or_default();
        zonda_storage::is_required(&json)
    }

    fn start(&self, start: &Start<'_>) -> Result<Box<dyn Running>, StartError> {
        let (session, config) = (start.session, start.config);
        let json = config.plugin_json("storage_manager").unwrap_or_default();
        let mut storages = Storages::start(session, &json)?;
        let settings = config.settings();
        if settings.adminspace_enabled && settings.adminspace_readable {
            storages.answer_status(session)?;
        }
        let counters = storages.counters();
        let of_all = counters.clone();
        start.counters.add(move || of_all.samples());
        Ok(Box::new(Serving {
            storages,
            counters,
            session: session.clone(),
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
        let Serving {
            storages, session, ..
        } = *self;
        drop(storages);
        // A failure is ignored: the node may be closed already.
        let _ = session.close().wait();
    }
}
