// SPDX-License-Identifier: MIT OR Apache-2.0

//! The storages that run, and changes of them.
//!
//! A change first opens what is new, then changes what differs, and removes what is gone last, so
//! that a failure can undo it.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use zonda::Session;
use zonda_volume::{Store, Volume};

use crate::answers::{Answers, STOPPED};
use crate::settings::{Settings, StorageSettings};
use crate::storage::{Storage, close};

/// Surroundings of storages.
pub struct Surroundings {
    pub session: Session,
    pub answers: Arc<Answers>,
    pub volumes: Vec<&'static dyn Volume>,
}

impl Surroundings {
    fn open(&self, settings: &StorageSettings) -> Result<Box<dyn Store>, String> {
        let named = |volume: &&&dyn Volume| volume.name() == settings.backend;
        let volume = self.volumes.iter().find(named);
        let absent = || format!("there is no volume {}", settings.backend);
        Storage::open(settings, *volume.ok_or_else(absent)?)
    }

    fn start(&self, settings: StorageSettings, store: Box<dyn Store>) -> Result<Storage, String> {
        let mut storage = Storage::declare(settings, &self.session, None)?;
        self.run(&mut storage, store)?;
        Ok(storage)
    }

    fn run(&self, storage: &mut Storage, store: Box<dyn Store>) -> Result<(), String> {
        storage.run(store, &self.session, &self.answers)
    }
}

/// The storages that run, and the volumes of the configuration.
#[derive(Default)]
pub struct Managed {
    pub storages: Vec<Storage>,
    /// Configured volumes, without what is private.
    pub volumes: Vec<(String, Value)>,
    is_stopped: bool,
}

impl Managed {
    /// Refuses changes from now on, and returns the storages.
    pub fn stop(&mut self) -> Vec<Storage> {
        self.is_stopped = true;
        std::mem::take(&mut self.storages)
    }

    fn settings_of(&self, name: &str) -> Option<&StorageSettings> {
        let found = self.storages.iter().find(|it| it.settings.name == name);
        found.map(|storage| &storage.settings)
    }

    /// Removes a storage, and returns its place in the list.
    fn take(&mut self, name: &str) -> Option<(usize, Storage)> {
        let is_it = |storage: &Storage| storage.settings.name == name;
        let at = self.storages.iter().position(is_it)?;
        Some((at, self.storages.remove(at)))
    }

    fn put(&mut self, at: usize, storage: Storage) {
        self.storages.insert(at.min(self.storages.len()), storage);
    }
}

/// The places of the data of a storage before and after a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The store stays open.
    Same,
    /// The store is opened again with other options.
    Reopened,
    Other,
}

impl Place {
    fn between(one: &StorageSettings, other: &StorageSettings) -> Place {
        if one.backend != other.backend {
            return Place::Other;
        }
        let folder = |settings: &StorageSettings| settings.options.folder("a folder").ok();
        match one.options == other.options {
            true => Place::Same,
            false if folder(one) == folder(other) => Place::Reopened,
            false => Place::Other,
        }
    }
}

/// A storage before a change, and its store if the changed one has another.
struct Former {
    settings: StorageSettings,
    store: Option<Box<dyn Store>>,
}

/// Makes the storages those of a configuration.
///
/// # Errors
/// The reason in one line; nothing has changed.
pub fn change(managed: &Mutex<Managed>, next: Settings, by: &Surroundings) -> Result<(), String> {
    let (mut added, mut changed) = (Vec::new(), Vec::new());
    let names: Vec<String> = next.storages.iter().map(|it| it.name.clone()).collect();
    {
        let managed = managed.lock();
        if managed.is_stopped {
            return Err(STOPPED.to_owned());
        }
        for settings in next.storages {
            match managed.settings_of(&settings.name) {
                None => added.push(settings),
                Some(now) if *now != settings => changed.push(settings),
                Some(_) => {}
            }
        }
    }
    let mut new = Vec::new();
    let mut former = Vec::new();
    let outcome = add(added, by, &mut new).and_then(|()| {
        let all = changed.into_iter();
        all.into_iter().try_for_each(|settings| {
            former.push(replace(managed, settings, None, by)?);
            Ok(())
        })
    });
    if let Err(error) = outcome {
        undo(managed, former, by);
        // Their volumes stay as they were found: a closure may destroy data.
        new.into_iter()
            .for_each(|storage| drop(storage.into_store()));
        return Err(error);
    }
    let gone = {
        let mut managed = managed.lock();
        let all = std::mem::take(&mut managed.storages);
        let (stays, gone): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|it| names.contains(&it.settings.name));
        managed.storages = stays;
        managed.storages.append(&mut new);
        managed.volumes = next.volumes;
        gone
    };
    drop(gone);
    for Former { settings, store } in former {
        if let Some(store) = store {
            close(store, &settings.name);
        }
    }
    for warning in next.warnings {
        tracing::warn!("{warning}");
    }
    Ok(())
}

fn add(
    added: Vec<StorageSettings>,
    by: &Surroundings,
    new: &mut Vec<Storage>,
) -> Result<(), String> {
    for settings in added {
        let store = by.open(&settings)?;
        new.push(by.start(settings, store)?);
    }
    Ok(())
}

/// Runs storages as they were before a change that has failed.
fn undo(managed: &Mutex<Managed>, former: Vec<Former>, by: &Surroundings) {
    for Former { settings, store } in former.into_iter().rev() {
        if let Err(error) = replace(managed, settings, store, by) {
            tracing::error!("{error}; it does not return to its former configuration");
        }
    }
}

/// Replaces a storage by another one of its name, which takes updates before the former one ends.
/// It works on `store`, else on the store of the former one if the volume is the same.
///
/// # Errors
/// The reason in one line; the former one runs on.
fn replace(
    managed: &Mutex<Managed>,
    settings: StorageSettings,
    store: Option<Box<dyn Store>>,
    by: &Surroundings,
) -> Result<Former, String> {
    let found = managed.lock().take(&settings.name);
    let (at, now) = found.ok_or_else(|| format!("there is no storage {}", settings.name))?;
    let place = Place::between(&now.settings, &settings);
    let opened = match (store, place) {
        (None, Place::Other) => by.open(&settings).map(Some),
        (store, _) => Ok(store),
    };
    let declared = opened.and_then(|opened| {
        let storage = Storage::declare(settings.clone(), &by.session, Some(&now))?;
        Ok((opened, storage))
    });
    let (opened, mut next) = match declared {
        Ok(declared) => declared,
        Err(error) => {
            managed.lock().put(at, now);
            return Err(error);
        }
    };
    let former = now.settings.clone();
    let mut left = now.into_store();
    let store = match (opened, place) {
        (Some(opened), _) => Ok(opened),
        (None, Place::Same) if left.is_some() => left.take().ok_or_else(String::new),
        (None, _) => {
            left = None;
            by.open(&settings)
        }
    };
    match store.and_then(|store| by.run(&mut next, store)) {
        Ok(()) => {
            managed.lock().put(at, next);
            Ok(Former {
                settings: former,
                store: left,
            })
        }
        Err(error) => {
            let again = Storage::declare(former, &by.session, Some(&next));
            let again = again.and_then(|mut again| {
                next.hand_over(&again);
                let store = left.map_or_else(|| by.open(&again.settings), Ok)?;
                by.run(&mut again, store)?;
                Ok(again)
            });
            match again {
                Ok(storage) => managed.lock().put(at, storage),
                Err(error) => tracing::error!("{error}; it has stopped"),
            }
            Err(error)
        }
    }
}
