// SPDX-License-Identifier: MIT OR Apache-2.0

//! `zondad`: the router daemon. Everything it does is in the library.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use zonda_router::daemon::{self, DaemonArgs, terminal::Verbosity};

/// A router of the Zenoh protocol: forwards between the clients, peers and routers that connect to it.
///
/// Takes the flags of the reference's daemon. Prints its id and each address it listens on; ends on
/// SIGINT or SIGTERM after delivering what is queued, at once on a second one.
#[derive(Parser)]
#[command(name = "zondad", version)]
struct Cli {
    #[command(flatten)]
    daemon: DaemonArgs,
    #[command(flatten)]
    verbosity: Verbosity,
}

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => {
            cli.verbosity.log("warn");
            daemon::run(&cli.daemon)
        }
        Err(error) if error.use_stderr() => {
            // standard error may be closed, and then nobody is left to tell
            let _ = writeln!(std::io::stderr(), "error: {}", daemon::one_line(&error));
            ExitCode::from(2)
        }
        Err(help) => {
            // so may standard output
            let _ = help.print();
            ExitCode::SUCCESS
        }
    }
}
