// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference, and message-io, as yardsticks, if the user has their programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use zonda_program::Failure;

use super::system::ZENOH;

/// Programs of the reference that a comparison needs.
const ZENOH_PROGRAMS: [&str; 5] = ["zenohd", "z_pub_thr", "z_sub_thr", "z_ping", "z_pong"];

/// Further programs of the reference and of message-io that the table of links needs.
const ONE_WAY: [&str; 1] = ["z_one_way"];
const MESSAGE_IO_PROGRAMS: [&str; 3] = ["mio_pub", "mio_sub", "mio_one_way"];

/// Location of the reference.
#[derive(Args, Clone, Debug)]
pub struct Reference {
    /// Measure the reference too, in the same rounds: a directory with its zenohd, z_pub_thr,
    /// z_sub_thr, z_ping and z_pong, such as that of peers/zenoh
    #[arg(long, value_name = "DIR")]
    with_zenoh: Option<PathBuf>,
}

impl Reference {
    /// Returns the directory of its programs, if they are wanted.
    ///
    /// # Errors
    /// Fails if one of the programs is missing there.
    pub fn examples(&self) -> Result<Option<&Path>, Failure> {
        directory("--with-zenoh", self.with_zenoh.as_deref(), &ZENOH_PROGRAMS)
    }

    /// Returns the directory of programs that also measure one way, as those of peers/zenoh do.
    ///
    /// # Errors
    /// Fails if one of the programs is missing there.
    pub fn programs_one_way(&self) -> Result<Option<&Path>, Failure> {
        directory("--with-zenoh", self.examples()?, &ONE_WAY)
    }

    /// Returns the directory of programs that also send on a schedule, as those of peers/zenoh do.
    ///
    /// # Errors
    /// Fails if one of the programs is missing there, or its `z_ping` has no schedule.
    pub fn programs(&self) -> Result<Option<&Path>, Failure> {
        let directory = self.examples()?;
        directory.map_or(Ok(()), check_ping)?;
        Ok(directory)
    }

    /// Returns the yardsticks of tables: `bare` under its name there, and the reference if it is
    /// measured.
    pub fn columns<'a>(&self, bare: &'a str) -> Vec<&'a str> {
        let reference = self.with_zenoh.is_some().then_some(ZENOH);
        [bare].into_iter().chain(reference).collect()
    }
}

/// Location of the programs on message-io.
#[derive(Args, Clone, Debug)]
pub struct MessageIo {
    /// Measure message-io too, in the same rounds: a directory with its mio_pub, mio_sub and
    /// mio_one_way, such as that of peers/message-io
    #[arg(long, value_name = "DIR")]
    with_message_io: Option<PathBuf>,
}

impl MessageIo {
    /// Returns the directory of its programs, if they are wanted.
    ///
    /// # Errors
    /// Fails if one of the programs is missing there.
    pub fn programs(&self) -> Result<Option<&Path>, Failure> {
        let there = self.with_message_io.as_deref();
        directory("--with-message-io", there, &MESSAGE_IO_PROGRAMS)
    }
}

/// Returns the directory that a flag names, if it is given.
///
/// # Errors
/// Fails if one of the `programs` is missing there.
pub fn directory<'d>(
    flag: &str,
    directory: Option<&'d Path>,
    programs: &[&str],
) -> Result<Option<&'d Path>, Failure> {
    let Some(there) = directory else {
        return Ok(None);
    };
    let file = |name: &&&str| there.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    match programs.iter().find(|name| !file(name).is_file()) {
        None => Ok(directory),
        Some(missing) => Err(Failure::Usage(format!(
            "{flag} {}: no {missing} there; it must hold {}",
            there.display(),
            programs.join(", ")
        ))),
    }
}

/// Checks that `z_ping` can send on a schedule, unlike the reference's own example.
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
