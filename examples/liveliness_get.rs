// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints the live liveliness tokens.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use zonda::Wait;
use zonda::key_expr::KeyExpr;
use zonda_program::{self as program, Connection, Failure};

/// Prints which liveliness tokens are alive, and leaves.
#[derive(Parser)]
struct Cli {
    /// Key expression of the tokens
    #[arg(short, long, default_value = "group1/**", value_parser = program::key_expr)]
    key: KeyExpr<'static>,
    /// Time to wait for answers
    #[arg(
        short = 'o',
        long,
        value_name = "MILLISECONDS",
        default_value = "10000"
    )]
    timeout: u64,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(get)
}

fn get(cli: Cli) -> Result<(), Failure> {
    let session = cli.connection.open()?;
    program::print(format_args!("Sending Liveliness Query '{}'...", cli.key));
    let replies = session
        .liveliness()
        .get(&cli.key)
        .timeout(Duration::from_millis(cli.timeout))
        .wait()?;
    // the replies end when every queryable has answered, or with an error when the timeout has
    // passed
    while let Ok(reply) = replies.recv() {
        match reply.result() {
            Ok(sample) => {
                program::print(format_args!(">> Alive token ('{}')", sample.key_expr()));
            }
            Err(error) => program::print(format_args!(">> Received (ERROR: '{error}')")),
        }
    }
    session.close().wait()?;
    Ok(())
}
