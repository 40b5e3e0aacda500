// SPDX-License-Identifier: MIT OR Apache-2.0
//! The folder of a storage, and the volume that it is of.

use std::path::{Path, PathBuf};

use clap::Args;
use zonda::Config;
use zonda::key_expr::KeyExpr;
use zonda_program::Failure;
use zonda_storage::configured;
use zonda_storage::volume::{BUILTIN, OpenError, Options, Volume};

/// Volume of a storage that is new.
const USUAL: &str = "redb";

/// The data of a storage: a folder and its volume, or a configuration that names both.
#[derive(Args, Clone, Debug)]
pub struct Place {
    /// The folder of the storage: the option `dir` of its volume
    #[arg(value_name = "DIR", required_unless_present = "config")]
    folder: Option<PathBuf>,
    /// The volume of the storage: redb or fs [default: the one whose data the folder has]
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    volume: Option<String>,
    /// The configuration of the router, instead of a folder: it has the volume, the folder, the prefix
    /// and the history
    #[arg(
        long,
        value_name = "FILE",
        requires = "storage",
        conflicts_with = "folder"
    )]
    config: Option<PathBuf>,
    /// The name of the storage in the configuration
    #[arg(long, value_name = "NAME", requires = "config")]
    storage: Option<String>,
}

/// Use of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It is only read.
    Read,
    /// Its storage is changed.
    Change,
    /// Its storage is changed, and created if there is none.
    Fill,
}

impl Use {
    /// Returns the options for this use.
    fn of(self, options: Options) -> Options {
        match self {
            Use::Read => options.with("read_only", true),
            Use::Change | Use::Fill => options,
        }
    }
}

/// The data of a storage, to be opened.
pub struct Found {
    /// The volume.
    pub volume: &'static dyn Volume,
    /// Its options.
    pub options: Options,
    /// The `strip_prefix`, if a configuration has it.
    pub prefix: Option<String>,
    /// True if a configuration has a `history`.
    pub has_history: bool,
}

impl Found {
    /// Returns the prefix that the command line or else the configuration has.
    pub fn prefix(&self, given: Option<&KeyExpr<'_>>) -> Option<String> {
        let given = given.map(|prefix| prefix.as_str().to_owned());
        given.or_else(|| self.prefix.clone())
    }
}

impl Place {
    /// Returns the name of the place, as the user wrote it.
    pub fn name(&self) -> String {
        match (&self.folder, &self.storage) {
            (Some(folder), _) => folder.display().to_string(),
            (None, name) => format!("storage {}", name.as_deref().unwrap_or_default()),
        }
    }

    /// Finds the data.
    ///
    /// # Errors
    /// Bad usage if there is no such volume, configuration or storage, a failure if there is no data.
    pub fn find(&self, used: Use) -> Result<Found, Failure> {
        match (&self.folder, &self.config) {
            (Some(folder), _) => self.in_folder(folder, used),
            (None, Some(file)) => self.configured(file, used),
            (None, None) => Err(Failure::Usage("name a folder, or --config".to_owned())),
        }
    }

    fn configured(&self, file: &Path, used: Use) -> Result<Found, Failure> {
        let usage = |error: String| Failure::Usage(format!("{}: {error}", file.display()));
        let config = Config::from_file(file).map_err(|error| usage(error.to_string()))?;
        let json = config.plugin_json("storage_manager");
        let absent = || usage("it has no `plugins/storage_manager`".to_owned());
        let name = self.storage.as_deref().unwrap_or_default();
        let found = configured(&json.ok_or_else(absent)?, name);
        let found = found.map_err(|error| usage(error.to_string()))?;
        let is_on_disk = Options::default().with("dir", "x");
        if found.volume.check(&is_on_disk).is_err() {
            let volume = found.volume.name();
            return Err(Failure::Usage(format!(
                "{} is in the volume {volume}, and has no folder",
                self.name()
            )));
        }
        // Its data stays there, whatever is to happen when its router ends.
        let options = found.options.with("on_closure", "do_nothing");
        let folder = options.folder("a folder");
        let folder = folder.map_err(|error| usage(error.to_string()))?;
        let has_data = found.volume.has_data_in(&folder);
        if !has_data && used != Use::Fill {
            return Err(Failure::Run(format!(
                "{} has no data in {}",
                self.name(),
                folder.display()
            )));
        }
        Ok(Found {
            volume: found.volume,
            options: used.of(options),
            prefix: found.strip_prefix,
            has_history: found.has_history,
        })
    }

    fn in_folder(&self, folder: &Path, used: Use) -> Result<Found, Failure> {
        // A relative folder is that of the shell, not that of the environment of a router.
        let folder = std::path::absolute(folder)?;
        let text = folder.to_str();
        let no_text = || Failure::Usage(format!("the path of {} is no UTF-8", self.name()));
        let options = Options::default().with("dir", text.ok_or_else(no_text)?);
        let on_disk = |volume: &&dyn Volume| volume.check(&options).is_ok();
        let volumes: Vec<&'static dyn Volume> = BUILTIN.iter().copied().filter(on_disk).collect();
        let named = |name: &str| {
            let found = volumes.iter().find(|volume| volume.name() == name);
            found.copied().ok_or_else(|| no_volume(name, &volumes))
        };
        let recognised = volumes.iter().find(|volume| volume.has_data_in(&folder));
        let volume = match (&self.volume, recognised) {
            (Some(name), _) => named(name)?,
            (None, Some(volume)) => *volume,
            (None, None) => named(USUAL)?,
        };
        // Files of other programs have no data beside them, and can be read all the same.
        let is_there = volume.has_data_in(&folder);
        let is_enough = match used {
            Use::Fill => true,
            Use::Change => is_there,
            Use::Read => is_there || self.volume.is_some(),
        };
        match is_enough {
            false => Err(self.no_storage()),
            true => Ok(Found {
                volume,
                options: used.of(options),
                prefix: None,
                has_history: false,
            }),
        }
    }

    fn no_storage(&self) -> Failure {
        Failure::Run(format!(
            "{} has no storage; name the folder that the configuration has as `dir`, or add --volume fs to read files of other programs",
            self.name()
        ))
    }
}

fn no_volume(name: &str, volumes: &[&dyn Volume]) -> Failure {
    let names: Vec<_> = volumes.iter().map(|volume| volume.name()).collect();
    Failure::Usage(match names.is_empty() {
        true => "this build has no volumes on disks: it lacks the feature `storage`".to_owned(),
        false => format!(
            "there is no volume {name:?}; there are {}",
            names.join(", ")
        ),
    })
}

/// Creates the failure of a folder that does not open.
pub fn not_open(error: OpenError) -> Failure {
    Failure::Run(match error {
        OpenError::InUse { place } => {
            format!("{place} is in use; stop the router that has it open, and try again")
        }
        error => error.to_string(),
    })
}
