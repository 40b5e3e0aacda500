// SPDX-License-Identifier: MIT OR Apache-2.0
//! `pub_thr` without a session: the node below it publishes on `test/thr` as fast as the link takes it. The difference
//! to `pub_thr` is what the session costs. The other side is `net_sub_thr`, or `sub_thr`:
//!
//! ```text
//! cargo run --release --example net_sub_thr -- -l tcp/127.0.0.1:7450
//! cargo run --release --example net_pub_thr -- 8 -e tcp/127.0.0.1:7450
//! ```

mod measure;

use std::process::ExitCode;

use clap::Parser;
use measure::Sending;
use zonda_codec::Payload;
use zonda_program::{self as program, Connection, Failure, Interrupt, node};

/// Publishes messages of SIZE bytes without a pause, waiting while the link is full, until Ctrl-C; by the node alone.
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    sending: Sending,
    #[command(flatten)]
    connection: Connection,
}

fn main() -> ExitCode {
    program::run(publish)
}

fn publish(cli: Cli) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let node = node::open(&cli.connection)?;
    let publisher =
        node::Publisher::declare(&node, "test/thr", cli.sending.priority, cli.sending.express)?;
    let payload = Payload::from(program::pattern(cli.sending.size));

    let as_json = cli.connection.json;
    cli.sending.until(&interrupt, as_json, || {
        publisher.put(&payload)?;
        Ok(())
    })?;
    drop(publisher);
    node::close(&node)
}
