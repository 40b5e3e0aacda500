// SPDX-License-Identifier: MIT OR Apache-2.0
//! Publishes on `test/thr` as fast as the link takes it. The other side is `sub_thr`:
//!
//! ```text
//! cargo run --release --example sub_thr -- -l tcp/127.0.0.1:7450
//! cargo run --release --example pub_thr -- 8 -e tcp/127.0.0.1:7450
//! ```

mod measure;

use std::process::ExitCode;

use clap::Parser;
use measure::Sending;
use zonda::Wait;
use zonda::bytes::ZBytes;
use zonda::qos::CongestionControl;
use zonda_program::{self as program, Connection, Failure, Interrupt};

/// Publishes messages of SIZE bytes without a pause, waiting while the link is full, until Ctrl-C.
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
    let session = cli.connection.open()?;

    // options of the publisher cost nothing per message
    let publisher = session
        .declare_publisher("test/thr")
        .congestion_control(CongestionControl::Block)
        .priority(cli.sending.priority)
        .express(cli.sending.express)
        .wait()?;

    // cloning shares the bytes, it does not copy them
    let payload = ZBytes::from(program::pattern(cli.sending.size));

    let as_json = cli.connection.json;
    cli.sending.until(&interrupt, as_json, || {
        publisher.put(payload.clone()).wait()?;
        Ok(())
    })?;
    session.close().wait()?;
    Ok(())
}
