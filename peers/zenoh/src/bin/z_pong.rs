// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends every message on `test/ping` back on `test/pong`.

use clap::Parser;
use zenoh::Wait;
use zenoh::qos::{CongestionControl, Priority};
use zenoh_peers::latency::KEY_LOAD;
use zenoh_peers::{Common, KEY_PING, KEY_PONG, Mode, fail, priority};

/// Answers z_ping until Ctrl-C.
#[derive(Parser)]
struct Cli {
    /// Let answers wait for a batch instead of sending each at once
    #[arg(long)]
    no_express: bool,
    /// Priority of the answers, 1 (most urgent) to 7 [default: 5]
    #[arg(long, value_name = "N", value_parser = priority)]
    priority: Option<Priority>,
    #[command(flatten)]
    common: Common,
}

fn main() {
    let cli = Cli::parse();
    let session = cli.common.open(Mode::Peer, &[]);
    let publisher = session
        .declare_publisher(KEY_PONG)
        .congestion_control(CongestionControl::Block)
        .priority(cli.priority.unwrap_or_default())
        .express(!cli.no_express)
        .wait()
        .unwrap_or_else(|e| fail("cannot declare the publisher of test/pong", e));
    // messages of z_ping --load are read and dropped
    let _load = session
        .declare_subscriber(KEY_LOAD)
        .callback(|_sample| {})
        .wait()
        .unwrap_or_else(|e| fail("cannot subscribe to test/load", e));
    let _subscriber = session
        .declare_subscriber(KEY_PING)
        .callback(move |sample| {
            if let Err(e) = publisher.put(sample.payload().clone()).wait() {
                fail("put on test/pong", e);
            }
        })
        .wait()
        .unwrap_or_else(|e| fail("cannot subscribe to test/ping", e));
    loop {
        std::thread::park();
    }
}
