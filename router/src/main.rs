// SPDX-License-Identifier: MIT OR Apache-2.0

//! `zondad`: the router daemon. Everything it does is in the library.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use zonda_router::daemon::{self, program::Zondad, terminal};

fn main() -> ExitCode {
    match Zondad::try_parse() {
        Ok(cli) => {
            cli.verbosity.log(terminal::LOG_OF_DAEMON);
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
