// SPDX-License-Identifier: MIT OR Apache-2.0
//! `pong` without a session: the node below it sends every message on `test/ping` back on `test/pong`. The other side
//! is `net_ping`, or `ping`.

use std::process::ExitCode;

use clap::Parser;
use zonda_codec::Priority;
use zonda_program::{self as program, Connection, Failure, Interrupt, node};

/// Answers `net_ping` until Ctrl-C; by the node alone.
#[derive(Parser)]
struct Cli {
    /// Let answers wait for a batch instead of sending each at once
    #[arg(long)]
    no_express: bool,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(answer)
}

fn answer(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let node = node::open(&cli.connection)?;
    let (priority, express) = (Priority::default(), !cli.no_express);
    let publisher = node::Publisher::declare(&node, "test/pong", priority, express)?;
    let subscriber = node::Subscriber::declare(&node, "test/ping", move |delivery| {
        if let Err(error) = publisher.put(&node::payload(delivery)) {
            tracing::warn!("no answer on test/pong: {error}");
        }
    })?;

    interrupt.wait();
    drop(subscriber);
    node::close(&node)
}
