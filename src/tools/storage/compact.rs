// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda storage compact`: a smaller file for the same data.

use clap::Args;
use zonda_program::{Failure, complain, print};

use super::place::{Place, Use, not_open};

const HELP: &str = "\
Example:
  zonda storage compact demo-storage     prints the bytes before and after

A database reuses the room of removed values, and its file does not shrink by itself. Of files (volume fs), what they \
cannot hold is in a database, which is compacted. A storage in use is refused.

Exit code: 0 when done; 1 for a failure at run time; 2 for bad usage.";

/// Give the room of removed values back to the system.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Compact {
    #[command(flatten)]
    place: Place,
}

impl Compact {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let found = self.place.find(Use::Change)?;
        let mut store = found.volume.open(&found.options).map_err(not_open)?;
        complain(format_args!("compacting {}", self.place.name()));
        let sizes = store.compact()?;
        store.close()?;
        match sizes {
            Some(sizes) => print(format_args!(
                "{}: {} bytes before, {} bytes after",
                self.place.name(),
                sizes.before,
                sizes.after
            )),
            None => print(format_args!(
                "{}: there is nothing to compact",
                self.place.name()
            )),
        }
        Ok(())
    }
}
