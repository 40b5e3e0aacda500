// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deletes the values of a key and leaves.

mod arguments;

use std::process::ExitCode;

use arguments::{Connection, Failure, Reach};
use clap::Parser;
use zonda::Wait;
use zonda::key_expr::KeyExpr;

/// Tells the subscribers of a key that it has no value any more.
#[derive(Parser)]
#[command(after_help = arguments::REACH_HELP)]
struct Cli {
    /// Key, or key expression, to delete
    #[arg(short, long, default_value = "demo/example/zonda-put", value_parser = arguments::key_expr)]
    key: KeyExpr<'static>,
    /// Bytes to send along
    #[arg(short, long)]
    attach: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    arguments::run(delete)
}

fn delete(cli: Cli) -> Result<(), Failure> {
    let session = cli.connection.open()?;
    let mut reach = Reach::insist(&session)?;
    arguments::print(format_args!("Deleting resources matching '{}'...", cli.key));
    session.delete(&cli.key).attachment(cli.attach).wait()?;
    reach.tell(&session);
    let reached = reach.finish(&session);
    session.close().wait()?;
    reached
}
