// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command line of the program `zondad`.

use clap::Parser;
use zonda_program::terminal::Verbosity;

use crate::DaemonArgs;

/// A router of the Zenoh protocol: forwards between the clients, peers and routers that connect to it.
///
/// Takes the flags of the reference's daemon. Prints its id and each address it listens on; ends on
/// SIGINT or SIGTERM after delivering what is queued, at once on a second one.
#[derive(Parser, Debug)]
#[command(name = "zondad", version)]
pub struct Zondad {
    /// The router's own arguments.
    #[command(flatten)]
    pub daemon: DaemonArgs,
    /// The amount of its log.
    #[command(flatten)]
    pub verbosity: Verbosity,
}
