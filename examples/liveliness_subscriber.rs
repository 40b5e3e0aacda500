// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints liveliness tokens that come and go.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use zonda::Wait;
use zonda::key_expr::KeyExpr;
use zonda::sample::SampleKind;
use zonda_program::{self as program, Connection, Failure, Interrupt};

/// Prints which liveliness tokens come and go until Ctrl-C.
#[derive(Parser)]
struct Cli {
    /// Key expression of the tokens
    #[arg(short, long, default_value = "group1/**", value_parser = program::key_expr)]
    key: KeyExpr<'static>,
    /// Print those that are alive already, too
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(subscribe)
}

fn subscribe(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = cli.connection.open()?;

    program::print(format_args!(
        "Declaring Liveliness Subscriber on '{}'...",
        cli.key
    ));
    let subscriber = session
        .liveliness()
        .declare_subscriber(&cli.key)
        .history(cli.history)
        .wait()?;
    program::print(format_args!("Press CTRL-C to quit..."));
    // print changes until Ctrl-C
    while !interrupt.happened() {
        let Some(sample) = subscriber.recv_timeout(Duration::from_millis(50))? else {
            continue;
        };
        let what = match sample.kind() {
            SampleKind::Put => "New alive token",
            SampleKind::Delete => "Dropped token",
        };
        let key = sample.key_expr();
        program::print(format_args!(">> [LivelinessSubscriber] {what} ('{key}')"));
    }
    subscriber.undeclare().wait()?;
    session.close().wait()?;
    Ok(())
}
