// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deletes the values of a key and exits.

use std::process::ExitCode;

use clap::Parser;
use zonda::Wait;
use zonda::key_expr::KeyExpr;
use zonda_program::{self as program, Connection, Failure, Reach};

/// Tells the subscribers of a key that it has no value any more.
#[derive(Parser)]
#[command(after_help = program::REACH_HELP)]
struct Cli {
    /// Key, or key expression, to delete
    #[arg(short, long, default_value = "demo/example/zonda-put", value_parser = program::key_expr)]
    key: KeyExpr<'static>,
    /// Bytes to send along
    #[arg(short, long)]
    attach: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(delete)
}

fn delete(cli: Cli) -> Result<(), Failure> {
    let session = cli.connection.open()?;
    let mut reach = Reach::insist(&session)?;
    program::print(format_args!("Deleting resources matching '{}'...", cli.key));
    reach.tell(&session);
    session.delete(&cli.key).attachment(cli.attach).wait()?;
    let reached = reach.finish(&session);
    session.close().wait()?;
    reached
}
