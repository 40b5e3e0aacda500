// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda completions` and `zonda man`: what shells and readers of manuals need of the command line.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use zonda_program::{Failure, print, write};

/// Where shells look for completions.
const HELP: &str = "\
Examples:
  zonda completions bash > ~/.local/share/bash-completion/completions/zonda
  zonda completions zsh > ~/.zfunc/_zonda
  zonda completions fish > ~/.config/fish/completions/zonda.fish";

/// Print what makes a shell complete the command line.
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub fn run(self, mut command: Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "zonda", &mut script);
        write(&script);
        Ok(())
    }
}

/// Write the manual, a page for each sub-command.
#[derive(Args, Clone, Debug)]
pub struct Man {
    /// The directory for the pages, such as /usr/local/share/man/man1
    directory: PathBuf,
}

impl Man {
    /// Writes the pages, and says which.
    pub fn run(self, command: Command) -> Result<(), Failure> {
        let name = self.directory.display();
        fs::create_dir_all(&self.directory)
            .map_err(|e| Failure::doing(format_args!("cannot make {name}"), e))?;
        let written = clap_mangen::generate_to(command, &self.directory);
        written.map_err(|e| Failure::doing(format_args!("cannot write the pages in {name}"), e))?;
        print(format_args!(
            "the pages are in {name}; read one with: man {name}/zonda-sub.1"
        ));
        Ok(())
    }
}
