// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends one query repeatedly and prints the replies.
//!
//! ```text
//! cargo run --example querier -- -m client -e tcp/127.0.0.1:7447 -s 'demo/example/**' -n 3
//! ```

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use zonda::Wait;
use zonda::query::{QueryTarget, Selector};
use zonda_program::{self as program, Connection, Failure, Interrupt};

/// Asks the same again and again until Ctrl-C.
#[derive(Parser)]
struct Cli {
    /// Keys to ask for, with parameters
    #[arg(short, long, default_value = "demo/example/**", value_parser = program::selector)]
    selector: Selector<'static>,
    /// A payload for the queryables to work on
    #[arg(short, long, short_alias = 'v', alias = "value")]
    payload: Option<String>,
    /// Queryables that get the query: BEST_MATCHING, ALL or ALL_COMPLETE
    #[arg(short, long, default_value = "BEST_MATCHING", value_parser = program::target)]
    target: QueryTarget,
    /// Time to wait for replies, in milliseconds
    #[arg(short = 'o', long, value_name = "TIMEOUT_MS", default_value = "10000")]
    timeout: u64,
    /// Leave after so many queries [default: never]
    #[arg(short, long, value_name = "QUERIES")]
    number: Option<u64>,
    /// Time between two queries
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = program::seconds)]
    interval: Duration,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(ask)
}

fn ask(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = cli.connection.open()?;
    let key = cli.selector.key_expr();
    program::print(format_args!("Declaring Querier on '{key}'..."));
    let querier = session
        .declare_querier(key)
        .target(cli.target)
        .timeout(Duration::from_millis(cli.timeout))
        .wait()?;
    program::print(format_args!("Press CTRL-C to quit..."));
    // query in each interval until Ctrl-C
    for n in 0..cli.number.unwrap_or(u64::MAX) {
        if interrupt.wait_until(Instant::now() + cli.interval) {
            break;
        }
        let payload = format!("[{n:4}] {}", cli.payload.as_deref().unwrap_or_default());
        let selector = &cli.selector;
        program::print(format_args!(
            "Querying '{selector}' with payload: '{payload}'..."
        ));
        let replies = querier
            .get()
            .parameters(selector.parameters())
            .payload(payload)
            .wait()?;
        for reply in &replies {
            program::print(format_args!("{}", program::received(&reply)));
        }
    }
    querier.undeclare().wait()?;
    session.close().wait()?;
    Ok(())
}
