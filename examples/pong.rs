// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends every message on `test/ping` back on `test/pong`. The other side is `ping`.

use std::process::ExitCode;

use clap::Parser;
use zonda::Wait;
use zonda::qos::CongestionControl;
use zonda_program::{self as program, Connection, Failure, Interrupt};

/// Answers `ping` until Ctrl-C.
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
    let session = cli.connection.open()?;
    let publisher = session
        .declare_publisher("test/pong")
        .congestion_control(CongestionControl::Block)
        .express(!cli.no_express)
        .wait()?;

    // publishing is allowed inside a callback; the payload is sent as it came, without a copy
    let subscriber = session
        .declare_subscriber("test/ping")
        .callback(move |sample| {
            if let Err(error) = publisher.put(sample.payload().clone()).wait() {
                tracing::warn!("no answer on test/pong: {error}");
            }
        })
        .wait()?;

    interrupt.wait();
    subscriber.undeclare().wait()?;
    session.close().wait()?;
    Ok(())
}
