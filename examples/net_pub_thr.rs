// SPDX-License-Identifier: MIT OR Apache-2.0
//! `pub_thr` without a session: the node below it publishes on `test/thr` as fast as the link takes it. The difference
//! to `pub_thr` is what the session costs. The other side is `net_sub_thr`, or `sub_thr`:
//!
//! ```text
//! cargo run --release --example net_sub_thr -- -l tcp/127.0.0.1:7450
//! cargo run --release --example net_pub_thr -- 8 -e tcp/127.0.0.1:7450
//! ```

mod arguments;
mod measure;
mod node;

use std::process::ExitCode;
use std::time::Instant;

use arguments::{Connection, Failure, Interrupt};
use clap::Parser;
use zonda_codec::{Payload, Priority};

/// Publishes messages of SIZE bytes without a pause, waiting while the link is full, until Ctrl-C; by the node alone.
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
    let node = node::open(&cli.connection)?;
    let publisher = node::Publisher::declare(&node, "test/thr", (cli.priority, cli.express))?;
    let payload = Payload::from(arguments::pattern(cli.size));

    let mut sent = 0;
    let mut since = Instant::now();
    while !interrupt.happened() {
        publisher.put(&payload)?;
        sent += 1;
        if cli.print && sent == cli.number {
            measure::print_rate(sent, since.elapsed().as_secs_f64(), cli.connection.json);
            sent = 0;
            since = Instant::now();
        }
    }
    drop(publisher);
    node::close(&node)
}
