// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures round trips through `pong`, one message in flight:
//!
//! ```text
//! cargo run --release --example pong -- -l tcp/127.0.0.1:7450
//! cargo run --release --example ping -- 64 -e tcp/127.0.0.1:7450
//! ```

mod measure;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use measure::{RoundTrip, Trips};
use zonda::Wait;
use zonda::bytes::ZBytes;
use zonda::handlers::FifoChannelHandler;
use zonda::pubsub::{Publisher, Subscriber};
use zonda::qos::CongestionControl;
use zonda::sample::Sample;
use zonda_program::{self as program, Connection, Failure, Interrupt};

/// Sends messages of SIZE bytes one after the other and prints each round trip.
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
    let session = cli.connection.open()?;
    let ping = Ping {
        answers: session.declare_subscriber("test/pong").wait()?,
        publisher: session
            .declare_publisher("test/ping")
            .congestion_control(CongestionControl::Block)
            .express(!cli.trips.no_express)
            .wait()?,
        message: ZBytes::from(program::pattern(cli.trips.size)),
    };
    let as_json = cli.connection.json;
    cli.trips.measure(&ping, "pong", &interrupt, as_json)?;
    session.close().wait()?;
    Ok(())
}

struct Ping<'a> {
    answers: Subscriber<FifoChannelHandler<Sample>>,
    publisher: Publisher<'a>,
    message: ZBytes,
}

impl RoundTrip for Ping<'_> {
    fn put(&self) -> Result<(), Failure> {
        // cloning shares the bytes, it does not copy them
        self.publisher.put(self.message.clone()).wait()?;
        Ok(())
    }

    fn answered(&self, limit: Duration) -> Result<bool, Failure> {
        Ok(self.answers.recv_timeout(limit)?.is_some())
    }
}
