// SPDX-License-Identifier: MIT OR Apache-2.0
//! Publishes on `test/thr` as fast as the link takes it. The other side is `sub_thr`:
//!
//! ```text
//! cargo run --release --example sub_thr -- -l tcp/127.0.0.1:7450
//! cargo run --release --example pub_thr -- 8 -e tcp/127.0.0.1:7450
//! ```

mod arguments;
mod measure;

use std::process::ExitCode;
use std::time::Instant;

use arguments::{Connection, Failure, Interrupt};
use clap::Parser;
use zonda::Wait;
use zonda::bytes::ZBytes;
use zonda::qos::{CongestionControl, Priority};

/// Publishes messages of SIZE bytes without a pause, waiting while the link is full, until Ctrl-C.
#[derive(Parser)]
struct Cli {
    /// Payload of a message in bytes
    size: usize,
    /// Priority, 1 (most urgent) to 7 (least)
    #[arg(short, long, default_value = "5", value_parser = arguments::priority)]
    priority: Priority,
    /// Send each message at once instead of batching
    #[arg(long)]
    express: bool,
    /// Print the rate of sending
    #[arg(short = 't', long)]
    print: bool,
    /// Messages between two printed rates
    #[arg(short, long, value_name = "MESSAGES", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    number: u64,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    arguments::run(publish)
}

fn publish(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let session = cli.connection.open()?;

    // what is said here once costs nothing per message
    let publisher = session
        .declare_publisher("test/thr")
        .congestion_control(CongestionControl::Block)
        .priority(cli.priority)
        .express(cli.express)
        .wait()?;

    // cloning shares the bytes, it does not copy them
    let payload = ZBytes::from(arguments::pattern(cli.size));

    let mut sent = 0;
    let mut since = Instant::now();
    while !interrupt.happened() {
        publisher.put(payload.clone()).wait()?;
        sent += 1;
        if cli.print && sent == cli.number {
            measure::print_rate(sent, since.elapsed().as_secs_f64(), cli.connection.json);
            sent = 0;
            since = Instant::now();
        }
    }
    session.close().wait()?;
    Ok(())
}
