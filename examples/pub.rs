// SPDX-License-Identifier: MIT OR Apache-2.0
//! Publishes a numbered value every second. The other side is `sub`.
//!
//! ```text
//! cargo run --example sub -- -l tcp/127.0.0.1:7450
//! cargo run --example pub -- -e tcp/127.0.0.1:7450
//! ```

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use zonda::Wait;
use zonda::bytes::Encoding;
use zonda::key_expr::KeyExpr;
use zonda_program::{self as program, Connection, Failure, Interrupt, Reach};

/// Publishes until Ctrl-C.
#[derive(Parser)]
#[command(after_help = program::REACH_HELP)]
struct Cli {
    /// Key to publish on
    #[arg(short, long, default_value = "demo/example/zonda-pub", value_parser = program::key_expr)]
    key: KeyExpr<'static>,
    /// The value; a number is put in front of it
    #[arg(
        short,
        long,
        short_alias = 'v',
        alias = "value",
        default_value = "Pub from Zonda!"
    )]
    payload: String,
    /// Bytes to send beside each value
    #[arg(short, long)]
    attach: Option<String>,
    /// Time between two values
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = program::seconds)]
    interval: Duration,
    /// Leave after so many values [default: never]
    #[arg(short, long, value_name = "VALUES")]
    number: Option<u64>,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(publish)
}

fn publish(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = cli.connection.open()?;

    program::print(format_args!("Declaring Publisher on '{}'...", cli.key));
    let publisher = session.declare_publisher(&cli.key).wait()?;
    let mut reach = Reach::default();

    program::print(format_args!("Press CTRL-C to quit..."));
    // publish in each interval until Ctrl-C
    for index in 0..cli.number.unwrap_or(u64::MAX) {
        if interrupt.wait_until(Instant::now() + cli.interval) {
            break;
        }
        let value = format!("[{index:4}] {}", cli.payload);
        program::print(format_args!("Putting Data ('{}': '{value}')...", cli.key));
        reach.tell(&session);
        publisher
            .put(value)
            .encoding(Encoding::TEXT_PLAIN)
            .attachment(cli.attach.as_deref())
            .wait()?;
    }
    // fails where no node was connected
    publisher.undeclare().wait()?;
    let reached = reach.finish(&session);
    session.close().wait()?;
    reached
}
