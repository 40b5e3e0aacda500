// SPDX-License-Identifier: MIT OR Apache-2.0
//! The folder of a storage, and the volume that it is of.

use std::path::PathBuf;

use clap::Args;
use zonda_program::Failure;
use zonda_storage::volume::{BUILTIN, OpenError, Options, Volume};

/// Volume of a storage that is new.
const USUAL: &str = "redb";

/// The folder of a storage, and its volume.
#[derive(Args, Clone, Debug)]
pub struct Place {
    /// The folder of the storage: the option `dir` of its volume
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The volume of the storage: redb or fs [default: the one whose data the folder has]
    #[arg(long, value_name = "NAME")]
    volume: Option<String>,
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

/// A volume, and the options to open a folder.
pub struct Found {
    /// The volume.
    pub volume: &'static dyn Volume,
    /// Its options.
    pub options: Options,
}

impl Place {
    /// Returns the name of the folder, as the user wrote it.
    pub fn name(&self) -> impl std::fmt::Display {
        self.folder.display()
    }

    /// Finds the volume of the folder.
    ///
    /// # Errors
    /// Bad usage if there is none of that name, a failure if the folder has no storage.
    pub fn find(&self, used: Use) -> Result<Found, Failure> {
        // A relative folder is that of the shell, not that of the environment of a router.
        let folder = std::path::absolute(&self.folder)?;
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
        match (is_enough, used) {
            (false, _) => Err(self.no_storage()),
            (true, Use::Read) => Ok(Found {
                volume,
                options: options.with("read_only", true),
            }),
            (true, _) => Ok(Found { volume, options }),
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
