// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts the messages on `test/thr`, which `pub_thr` publishes, and prints the rate of each round.

mod measure;

use std::process::ExitCode;

use clap::Parser;
use measure::{Counting, Rounds};
use zonda::Wait;
use zonda_program::{self as program, Connection, Failure, Interrupt};

/// Counts messages and prints `<number> msg/s` once per round.
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    counting: Counting,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(subscribe)
}

fn subscribe(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = cli.connection.open()?;

    // The callback runs on the task that reads the socket: nothing is queued and no thread is woken,
    // but it must not take long.
    let rounds = Rounds::new(&cli.counting);
    let last_round = interrupt.clone();
    let subscriber = session
        .declare_subscriber("test/thr")
        .callback(move |_sample| {
            let Some(round) = rounds.count() else {
                return;
            };
            measure::print_rate(round.messages, round.seconds, cli.connection.json);
            if round.is_last {
                last_round.raise();
            }
        })
        .wait()?;

    interrupt.wait();
    subscriber.undeclare().wait()?;
    session.close().wait()?;
    Ok(())
}
