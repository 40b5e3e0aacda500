// SPDX-License-Identifier: MIT OR Apache-2.0

//! `zondad`: the router daemon. The library of this crate has its code.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use zonda_program::terminal;
use zondad::Zondad;

fn main() -> ExitCode {
    let cli: Zondad = zonda_program::parse();
    cli.verbosity.log(terminal::LOG_OF_DAEMON);
    zondad::run(&cli.daemon)
}
