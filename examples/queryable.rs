// SPDX-License-Identifier: MIT OR Apache-2.0
//! Answers queries with a value.
//!
//! ```text
//! cargo run --example queryable -- -m client -e tcp/127.0.0.1:7447 -k demo/greeting -p hello
//! ```

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use zonda::Wait;
use zonda::bytes::ZBytes;
use zonda::key_expr::KeyExpr;
use zonda::query::Query;
use zonda_program::{self as program, Connection, Failure, Interrupt};

/// Answers queries with a value until Ctrl-C.
#[derive(Parser)]
struct Cli {
    /// Key to answer on
    #[arg(short, long, default_value = "demo/example/zonda-queryable", value_parser = program::key_expr)]
    key: KeyExpr<'static>,
    /// The answer
    #[arg(
        short,
        long,
        short_alias = 'v',
        alias = "value",
        default_value = "Queryable from Zonda!"
    )]
    payload: String,
    /// Declare this queryable complete: no other one is needed for this key
    #[arg(long)]
    complete: bool,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(answer)
}

fn answer(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = cli.connection.open()?;
    program::print(format_args!("Declaring Queryable on '{}'...", cli.key));
    let queryable = session
        .declare_queryable(&cli.key)
        .complete(cli.complete)
        .wait()?;
    program::print(format_args!("Press CTRL-C to quit..."));
    while !interrupt.happened() {
        // the asker knows that there are no more answers once the query is dropped
        if let Some(query) = queryable.recv_timeout(Duration::from_millis(50))? {
            reply(&query, &cli);
        }
    }
    queryable.undeclare().wait()?;
    session.close().wait()?;
    Ok(())
}

fn reply(query: &Query, cli: &Cli) {
    let with = |p: &ZBytes| format!(" with payload '{}'", String::from_utf8_lossy(p.as_slice()));
    program::print(format_args!(
        ">> [Queryable ] Received Query '{query}'{}",
        query.payload().map_or(String::new(), with)
    ));
    let (key, payload) = (&cli.key, &cli.payload);
    program::print(format_args!(
        ">> [Queryable ] Responding ('{key}': '{payload}')"
    ));
    if let Err(error) = query.reply(key, payload).wait() {
        program::print(format_args!(">> [Queryable ] Error sending reply: {error}"));
    }
}
