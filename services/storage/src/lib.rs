// SPDX-License-Identifier: MIT OR Apache-2.0
#![forbid(unsafe_code)]

//! Storages: the last value of each key of a key expression, kept and given to who asks.
//!
//! A storage is a subscriber and a queryable of a session. [`Storages::start`] starts those of a
//! configuration, which has the form of the reference's `plugins/storage_manager`. The data is in a
//! volume ([`zonda_volume`]).
//!
//! # Rules
//! Updates take effect in the order of their timestamps, in whatever order they arrive. An update
//! of a key with wildcards changes the keys that have a value at its time, and is remembered, so
//! that an older update that arrives later yields to it. Deleted keys are remembered, too; both for
//! `garbage_collection/lifespan`, and across restarts if the volume is durable.
//!
//! # Writes that are answered
//! With `write_queries: true`, a query with the parameter `_write=put` and a payload, or
//! `_write=delete`, stores as a put or a delete does, and is answered once the change is on the disk:
//! with a reply on the key, without payload, that has the timestamp of the change. An error reply
//! means that the change may be lost. The change is not published to subscribers. It is off by
//! default, because access control judges such a query as a query, and not as a put.

mod admin;
mod answers;
mod counts;
mod engine;
mod history;
mod ledger;
mod managed;
mod offline;
mod patterns;
mod queue;
mod replica;
mod sampling;
mod settings;
mod spread;
mod storage;

use std::sync::Arc;

use parking_lot::Mutex;
use zonda::Session;
use zonda::query::Queryable;
use zonda_volume::{Options, Volume};

use answers::Answers;
use managed::{Managed, Surroundings};

pub use counts::Counters;
pub use ledger::{Effect, Update};
pub use offline::{Offline, value};
pub use settings::SECTION;
pub use zonda_volume as volume;

/// Error of storages that do not start, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// A value of the configuration is wrong.
    #[error("{0}")]
    Config(String),
    /// A volume does not open, or the session does not declare a storage.
    #[error("{0}")]
    Start(String),
}

/// Checks a configuration, as JSON, without touching the disk.
///
/// # Errors
/// The first value that is wrong.
pub fn check(json: &str) -> Result<(), StorageError> {
    let settings = settings::read(json, zonda_volume::BUILTIN);
    settings.map(|_| ()).map_err(StorageError::Config)
}

/// Checks that the places of the storages of a configuration, as JSON, are there or could be made,
/// without touching them.
///
/// # Errors
/// The first value that is wrong, or the first place that the system would refuse.
///
/// # Blocking
/// Looks for files and folders.
pub fn look(json: &str) -> Result<(), StorageError> {
    let settings = settings::read(json, zonda_volume::BUILTIN).map_err(StorageError::Config)?;
    for storage in &settings.storages {
        let mut volumes = zonda_volume::BUILTIN.iter();
        let volume = volumes.find(|volume| volume.name() == storage.backend);
        let looked = volume.map_or(Ok(()), |volume| volume.look(&storage.options));
        looked
            .map_err(|error| StorageError::Start(format!("storage {}: {error}", storage.name)))?;
    }
    Ok(())
}

/// The data of a storage in a configuration, for programs that work on it while no router does.
#[derive(Clone)]
pub struct Configured {
    /// The volume.
    pub volume: &'static dyn Volume,
    /// Options of the storage for it.
    pub options: Options,
    /// First chunks of the keys, which are not stored.
    pub strip_prefix: Option<String>,
    /// True if it keeps former values.
    pub has_history: bool,
}

impl std::fmt::Debug for Configured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Configured")
            .field("volume", &self.volume.name())
            .finish_non_exhaustive()
    }
}

/// Returns the storage of this name in a configuration, as JSON.
///
/// # Errors
/// The first value that is wrong, or there is no such storage.
pub fn configured(json: &str, name: &str) -> Result<Configured, StorageError> {
    let settings = settings::read(json, zonda_volume::BUILTIN).map_err(StorageError::Config)?;
    let names: Vec<_> = settings.storages.iter().map(|it| it.name.clone()).collect();
    let found = settings.storages.into_iter().find(|it| it.name == name);
    let found = found.ok_or_else(|| {
        StorageError::Config(match names.is_empty() {
            true => format!("`{SECTION}/storages` has no storages"),
            false => format!("there is no storage {name:?}, only {}", names.join(", ")),
        })
    })?;
    let mut volumes = zonda_volume::BUILTIN.iter().copied();
    let volume = volumes.find(|volume| volume.name() == found.backend);
    let absent = || StorageError::Config(format!("there is no volume {}", found.backend));
    Ok(Configured {
        volume: volume.ok_or_else(absent)?,
        options: found.options,
        strip_prefix: found.strip_prefix,
        has_history: found.history.is_some(),
    })
}

/// Returns false if a configuration, as JSON, says that a node may run without its storages.
pub fn is_required(json: &str) -> bool {
    settings::is_required(json)
}

/// Storages that run. Dropping them stops them.
pub struct Storages {
    managed: Arc<Mutex<Managed>>,
    /// Held while storages are added, changed and removed.
    turn: Mutex<()>,
    surroundings: Surroundings,
    counters: Counters,
    /// Answers queries to the admin space about them.
    admin: Option<Queryable<()>>,
}

impl Storages {
    /// Starts the storages of a configuration, as JSON, with the volumes of this build.
    ///
    /// # Errors
    /// A wrong value, a volume that does not open, a session that is closed.
    ///
    /// # Blocking
    /// Until the volumes can be read.
    pub fn start(session: &Session, json: &str) -> Result<Storages, StorageError> {
        Storages::start_with(session, json, zonda_volume::BUILTIN)
    }

    /// Starts the storages of a configuration with these volumes.
    ///
    /// # Errors
    /// The errors of [`start`](Storages::start).
    ///
    /// # Blocking
    /// Until the volumes can be read.
    pub fn start_with(
        session: &Session,
        json: &str,
        volumes: &[&'static dyn Volume],
    ) -> Result<Storages, StorageError> {
        let failed = |error: std::io::Error| StorageError::Start(format!("no thread: {error}"));
        let storages = Storages {
            managed: Arc::default(),
            turn: Mutex::new(()),
            surroundings: Surroundings {
                session: session.clone(),
                answers: Arc::new(Answers::start().map_err(failed)?),
                volumes: volumes.to_vec(),
            },
            counters: Counters::default(),
            admin: None,
        };
        storages.change(json)?;
        Ok(storages)
    }

    /// Adds, changes and removes storages, so that they are those of another configuration, as JSON.
    /// All others run on. A storage that changes takes updates all the while; it keeps its data if it
    /// keeps its volume. A volume that is not used any more is closed, with what its `on_closure`
    /// says.
    ///
    /// # Errors
    /// A wrong value, a volume that does not open: nothing has changed.
    ///
    /// # Blocking
    /// Until the new volumes can be read, and the data of the others is on the disk.
    pub fn change(&self, json: &str) -> Result<(), StorageError> {
        let settings = settings::read(json, &self.surroundings.volumes);
        let settings = settings.map_err(StorageError::Config)?;
        let _turn = self.turn.lock();
        let changed = managed::change(&self.managed, settings, &self.surroundings);
        let managed = self.managed.lock();
        let each = managed.storages.iter();
        let each = each.map(|it| (it.settings.name.clone(), Arc::clone(&it.counts)));
        self.counters.follow(each);
        changed.map_err(StorageError::Start)
    }

    /// Stops all storages. Later changes are refused.
    ///
    /// # Blocking
    /// Until what the storages have taken is on the disk.
    pub fn stop(&self) {
        let _turn = self.turn.lock();
        let storages = self.managed.lock().stop();
        drop(storages);
    }

    /// Answers queries at `@/ID/ROLE/status/plugins/storage_manager` with their state.
    ///
    /// # Errors
    /// The session is closed.
    pub fn answer_status(&mut self) -> Result<(), StorageError> {
        let (managed, counters) = (Arc::clone(&self.managed), self.counters.clone());
        let admin = admin::declare(&self.surroundings.session, managed, counters);
        self.admin = Some(admin.map_err(|error| StorageError::Start(error.to_string()))?);
        Ok(())
    }

    /// Returns the number of storages.
    pub fn len(&self) -> usize {
        self.managed.lock().storages.len()
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Describes them in one line.
    pub fn status(&self) -> String {
        let managed = self.managed.lock();
        let each = managed.storages.iter().map(|storage| {
            let settings = &storage.settings;
            format!(
                "{} ({} on {})",
                settings.name, settings.volume, settings.key
            )
        });
        let each: Vec<_> = each.collect();
        match each.is_empty() {
            true => "no storages".to_owned(),
            false => each.join(", "),
        }
    }

    /// Returns their counters, which outlive them.
    pub fn counters(&self) -> Counters {
        self.counters.clone()
    }
}

impl Drop for Storages {
    /// # Blocking
    /// Until what the storages have taken is on the disk.
    fn drop(&mut self) {
        if let Some(admin) = self.admin.take() {
            // It fails when the session is closed, and then no callback runs.
            let _ = zonda::Wait::wait(admin.undeclare());
        }
        self.stop();
    }
}

impl std::fmt::Debug for Storages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storages")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}
