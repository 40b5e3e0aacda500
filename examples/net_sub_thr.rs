// SPDX-License-Identifier: MIT OR Apache-2.0
//! `sub_thr` without a session: the node below it counts the messages on `test/thr`, which `net_pub_thr` or `pub_thr`
//! publishes, and prints the rate of each round.

mod measure;

use std::process::ExitCode;

use clap::Parser;
use measure::{Counting, Rounds};
use zonda_program::{self as program, Connection, Failure, Interrupt, node};

/// Counts messages and prints `<number> msg/s` once per round; by the node alone.
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
    let node = node::open(&cli.connection)?;

    let rounds = Rounds::new(&cli.counting);
    let last_round = interrupt.clone();
    let subscriber = node::Subscriber::declare(&node, "test/thr", move |_delivery| {
        let Some(round) = rounds.count() else {
            return;
        };
        measure::print_rate(round.messages, round.seconds, cli.connection.json);
        if round.is_last {
            last_round.raise();
        }
    })?;

    interrupt.wait();
    drop(subscriber);
    node::close(&node)
}
