// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measurement of one way: publishes a message and takes it from a subscriber on the same thread,
//! again and again, by two sessions of one process.

use std::time::{Duration, Instant};

use clap::Parser;
use peers_report::one_way;
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::qos::CongestionControl;
use zenoh_peers::{Common, KEY_PING, Mode, fail, payload};

/// Pause before a first message that does not come is sent again.
const RETRY: Duration = Duration::from_millis(100);
/// Time limit for the two sessions to find each other.
const CONTACT: Duration = Duration::from_secs(15);

/// Sends messages of SIZE bytes one after the other, and prints one line of JSON.
#[derive(Parser)]
struct Cli {
    /// Payload of a message in bytes
    size: usize,
    /// Record for this long, in seconds
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Before that, send without recording, in seconds
    #[arg(long, default_value_t = 0.3)]
    warm_up: f64,
    /// Endpoints: one session listens where the other one connects
    #[command(flatten)]
    common: Common,
}

fn main() {
    let cli = Cli::parse();
    // Two sessions of one process: one listens, the other one connects to it.
    let receiving = cli.common.open(Mode::Peer, &[]);
    let mut connecting = cli.common.clone();
    connecting.connect = std::mem::take(&mut connecting.listen);
    let sending = connecting.open(Mode::Peer, &[("listen/endpoints", "[]")]);
    let messages = receiving
        .declare_subscriber(KEY_PING)
        .wait()
        .unwrap_or_else(|e| fail("cannot subscribe to test/ping", e));
    let publisher = sending
        .declare_publisher(KEY_PING)
        .congestion_control(CongestionControl::Block)
        .express(true)
        .wait()
        .unwrap_or_else(|e| fail("cannot declare the publisher of test/ping", e));
    let data = ZBytes::from(payload(cli.size));
    // Actions of the measurement.
    let send = || {
        if let Err(e) = publisher.put(data.clone()).wait() {
            fail("put on test/ping", e);
        }
    };
    let comes = |patience| match messages.recv_timeout(patience) {
        Ok(sample) => sample.is_some(),
        Err(e) => fail("waiting on test/ping", e),
    };
    // Contact: messages are repeated until the first one arrives, and late ones are drained.
    let start = Instant::now();
    send();
    while !comes(RETRY) {
        if start.elapsed() > CONTACT {
            fail("no message within 15 s", "the two sessions did not meet");
        }
        send();
    }
    while comes(RETRY) {}
    let [seconds, warm_up] = [cli.seconds, cli.warm_up].map(Duration::from_secs_f64);
    one_way(seconds, warm_up, send, comes);
    std::process::exit(0)
}
