// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference beside this project, if the user has its programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use zonda_program::Failure;

/// Programs of the reference that a comparison needs.
const ZENOH_PROGRAMS: [&str; 5] = ["zenohd", "z_pub_thr", "z_sub_thr", "z_ping", "z_pong"];

/// The reference by its own examples.
#[derive(Args, Clone, Debug)]
pub struct Examples {
    /// Measure the reference too, in the same rounds: a directory with its zenohd, z_pub_thr,
    /// z_sub_thr, z_ping and z_pong
    #[arg(long, value_name = "DIR")]
    pub with_zenoh: Option<PathBuf>,
}

impl Examples {
    /// Where they are, if they are wanted.
    ///
    /// # Errors
    /// One of them is missing there.
    pub fn directory(&self) -> Result<Option<&Path>, Failure> {
        let directory = self.with_zenoh.as_deref();
        directory.map_or(Ok(()), check_programs)?;
        Ok(directory)
    }
}

/// The reference by programs of `peers/zenoh`, which also send on a schedule.
#[derive(Args, Clone, Debug)]
pub struct Programs {
    /// Measure the reference too, in the same rounds: the folder with the programs of peers/zenoh
    #[arg(long, value_name = "DIR")]
    pub with_zenoh: Option<PathBuf>,
}

impl Programs {
    /// Where they are, if they are wanted.
    ///
    /// # Errors
    /// One of them is missing there, or its `z_ping` has no schedule.
    pub fn directory(&self) -> Result<Option<&Path>, Failure> {
        let directory = self.with_zenoh.as_deref();
        directory.map_or(Ok(()), check_programs)?;
        directory.map_or(Ok(()), check_ping)?;
        Ok(directory)
    }
}

/// Whether the reference's programs are in `directory`.
fn check_programs(directory: &Path) -> Result<(), Failure> {
    let file = |name: &&&str| directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    match ZENOH_PROGRAMS.iter().find(|name| !file(name).is_file()) {
        None => Ok(()),
        Some(missing) => Err(Failure::Usage(format!(
            "--with-zenoh {}: no {missing} there; it must hold {}",
            directory.display(),
            ZENOH_PROGRAMS.join(", ")
        ))),
    }
}

/// The reference's own example has no schedule.
fn check_ping(directory: &Path) -> Result<(), Failure> {
    let program = directory.join(format!("z_ping{}", std::env::consts::EXE_SUFFIX));
    let help = Command::new(&program)
        .arg("--help")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Failure::doing(format_args!("cannot start {}", program.display()), e))?;
    match String::from_utf8_lossy(&help.stdout).contains("--rate") {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "--with-zenoh {}: its z_ping has no --rate; build peers/zenoh as its README says",
            directory.display()
        ))),
    }
}
