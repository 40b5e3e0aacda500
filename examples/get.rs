// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends one query and prints the replies.
//!
//! ```text
//! cargo run --example get -- -m client -e tcp/127.0.0.1:7447 -s 'demo/example/**?unit=celsius'
//! ```

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use zonda::Wait;
use zonda::query::{QueryTarget, Selector};
use zonda_program::{self as program, Connection, Failure, Reach};

/// Asks once and prints the replies.
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
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(get)
}

fn get(cli: Cli) -> Result<(), Failure> {
    let session = cli.connection.open()?;
    Reach::insist(&session)?.tell(&session);
    program::print(format_args!("Sending Query '{}'...", cli.selector));
    let mut get = session
        .get(&cli.selector)
        .target(cli.target)
        .timeout(Duration::from_millis(cli.timeout));
    if let Some(payload) = &cli.payload {
        get = get.payload(payload);
    }
    // without a handler of its own, a get has a bounded queue to receive from; it ends after the last reply
    for reply in &get.wait()? {
        program::print(format_args!("{}", program::received(&reply)));
    }
    session.close().wait()?;
    Ok(())
}
