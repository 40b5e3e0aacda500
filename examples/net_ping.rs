// SPDX-License-Identifier: MIT OR Apache-2.0
//! `ping` without a session: the node below it measures round trips through `net_pong` or `pong`, one message in
//! flight. The difference to `ping` is what the session costs:
//!
//! ```text
//! cargo run --release --example net_pong -- -l tcp/127.0.0.1:7450
//! cargo run --release --example net_ping -- 64 -e tcp/127.0.0.1:7450
//! ```

mod measure;

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use clap::Parser;
use measure::{RoundTrip, Trips};
use zonda_codec::{Payload, Priority};
use zonda_program::{self as program, Connection, Failure, Interrupt, node};

/// Sends messages of SIZE bytes one after the other and prints each round trip; by the node alone.
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    trips: Trips,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(ping)
}

fn ping(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let node = node::open(&cli.connection)?;
    let (answer, answers) = channel();
    let subscriber = node::Subscriber::declare(&node, "test/pong", move |delivery| {
        // an error means that no thread waits any more
        let _ = answer.send(node::payload(delivery));
    })?;
    let (priority, express) = (Priority::default(), !cli.trips.no_express);
    let ping = Ping {
        answers,
        publisher: node::Publisher::declare(&node, "test/ping", priority, express)?,
        message: Payload::from(program::pattern(cli.trips.size)),
    };
    let as_json = cli.connection.json;
    cli.trips.measure(&ping, "net_pong", &interrupt, as_json)?;
    drop((subscriber, ping));
    node::close(&node)
}

struct Ping {
    answers: Receiver<Payload>,
    publisher: node::Publisher,
    message: Payload,
}

impl RoundTrip for Ping {
    fn put(&self) -> Result<(), Failure> {
        self.publisher.put(&self.message)?;
        Ok(())
    }

    fn answered(&self, limit: Duration) -> Result<bool, Failure> {
        Ok(self.answers.recv_timeout(limit).is_ok())
    }
}
