// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declares a liveliness token until Ctrl-C.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use zonda::Wait;
use zonda::key_expr::KeyExpr;
use zonda_program::{self as program, Connection, Failure, Interrupt};

/// Declares a liveliness token and keeps it until Ctrl-C.
#[derive(Parser)]
struct Cli {
    /// Key of the token
    #[arg(short, long, default_value = "group1/zonda", value_parser = program::key_expr)]
    key: KeyExpr<'static>,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(live)
}

fn live(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = cli.connection.open()?;

    program::print(format_args!(
        "Declaring LivelinessToken on '{}'...",
        cli.key
    ));
    let token = session.liveliness().declare_token(&cli.key).wait()?;
    program::print(format_args!(
        "Press CTRL-C to undeclare LivelinessToken and quit..."
    ));
    while !interrupt.wait_until(Instant::now() + Duration::from_secs(1)) {}

    // equivalent to dropping it; a crash, or the loss of the link, would end it for other nodes,
    // too
    token.undeclare().wait()?;
    session.close().wait()?;
    Ok(())
}
