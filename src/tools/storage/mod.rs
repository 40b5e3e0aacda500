// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda storage`: the data of a storage whose router does not run.

mod check;
mod compact;
mod export;
mod import;
mod place;

use clap::Subcommand;
use zonda_program::Failure;

/// Export, import, check and compact the data of a storage whose router does not run.
#[derive(Subcommand, Clone, Debug)]
pub enum Storage {
    /// Write all that a storage has as a recording
    Export(export::Export),
    /// Store what a recording has
    Import(import::Import),
    /// Read all that a storage has, compare it with its check sums, and count it
    Check(check::Check),
    /// Give the room of removed values back to the system
    Compact(compact::Compact),
}

impl Storage {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Storage::Export(export) => export.run(),
            Storage::Import(import) => import.run(),
            Storage::Check(check) => check.run(),
            Storage::Compact(compact) => compact.run(),
        }
    }
}
