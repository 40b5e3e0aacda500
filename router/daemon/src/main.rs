// SPDX-License-Identifier: MIT OR Apache-2.0

//! `zondad`: the router daemon. The library of this crate has its code.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use zonda_program::{one_line, terminal};
use zondad::Zondad;

fn main() -> ExitCode {
    match Zondad::try_parse() {
        Ok(cli) => {
            cli.verbosity.log(terminal::LOG_OF_DAEMON);
            zondad::run(&cli.daemon)
        }
        Err(error) if error.use_stderr() => {
            // A failure is ignored: standard error may be closed, and there is no other output.
            let _ = writeln!(std::io::stderr(), "error: {}", one_line(&error));
            ExitCode::from(2)
        }
        Err(help) => {
            // A failure is ignored: standard output may be closed, too.
            let _ = help.print();
            ExitCode::SUCCESS
        }
    }
}
