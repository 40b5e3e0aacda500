// SPDX-License-Identifier: MIT OR Apache-2.0
//! Puts one value and exits.
//!
//! ```text
//! cargo run --example put -- -m client -e tcp/127.0.0.1:7447 -k demo/greeting -p hello
//! ```

use std::process::ExitCode;

use clap::Parser;
use zonda::Wait;
use zonda::key_expr::KeyExpr;
use zonda_program::{self as program, Connection, Failure, Reach};

/// Puts one value.
#[derive(Parser)]
#[command(after_help = program::REACH_HELP)]
struct Cli {
    /// Key to put to
    #[arg(short, long, default_value = "demo/example/zonda-put", value_parser = program::key_expr)]
    key: KeyExpr<'static>,
    /// The value
    #[arg(
        short,
        long,
        short_alias = 'v',
        alias = "value",
        default_value = "Put from Zonda!"
    )]
    payload: String,
    /// Bytes to send beside the value
    #[arg(short, long)]
    attach: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(put)
}

fn put(cli: Cli) -> Result<(), Failure> {
    let session = cli.connection.open()?;
    let mut reach = Reach::insist(&session)?;
    program::print(format_args!(
        "Putting Data ('{}': '{}')...",
        cli.key, cli.payload
    ));
    reach.tell(&session);
    session
        .put(&cli.key, cli.payload)
        .attachment(cli.attach)
        .wait()?;
    let reached = reach.finish(&session);
    // close waits until the queued messages are delivered, or reports the lost ones; dropping the
    // session would not
    session.close().wait()?;
    reached
}
