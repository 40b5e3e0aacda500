// SPDX-License-Identifier: MIT OR Apache-2.0
//! Publishes on `test/thr` as fast as the link takes it, or on many keys below it.

use std::time::Instant;

use clap::Parser;
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::qos::{CongestionControl, Priority};
use zenoh_peers::{Common, KEY_THR, Mode, fail, line, payload};

/// Publishes messages of SIZE bytes without a pause, waiting when the link is full, until Ctrl-C.
#[derive(Parser)]
struct Cli {
    /// Payload of a message in bytes
    size: usize,
    /// Priority, 1 (most urgent) to 7 (least) [default: 5]
    #[arg(short, long, value_parser = clap::value_parser!(u8).range(1..=7))]
    priority: Option<u8>,
    /// Send each message at once instead of batching
    #[arg(long)]
    express: bool,
    /// Put on this many keys in turn, test/thr/0 and so on, without declaring a publisher
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    keys: Option<u64>,
    /// Drop messages instead of waiting when the link is full
    #[arg(long)]
    drop: bool,
    /// Print the rate of sending
    #[arg(short = 't', long)]
    print: bool,
    /// Messages between two printed rates
    #[arg(short, long, default_value_t = 100_000, value_name = "MESSAGES")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    number: u64,
    #[command(flatten)]
    common: Common,
}

fn main() {
    let cli = Cli::parse();
    let session = cli.common.open(Mode::Peer, &[]);
    let priority = cli.priority.map_or(Priority::DEFAULT, |p| {
        Priority::try_from(p).expect("the flag accepts 1 to 7 only")
    });
    let control = if cli.drop {
        CongestionControl::Drop
    } else {
        CongestionControl::Block
    };
    let data = ZBytes::from(payload(cli.size));
    // Several keys: undeclared puts in turn.
    if let Some(keys) = cli.keys {
        let keys: Vec<String> = (0..keys).map(|n| format!("{KEY_THR}/{n}")).collect();
        let mut keys = keys.iter().cycle();
        send(&cli, || {
            let key = keys.next().expect("there is a key at least");
            let put = session.put(key.as_str(), data.clone());
            let put = put.congestion_control(control).priority(priority);
            put.express(cli.express).wait()
        });
    }
    // One key: a declared publisher.
    let publisher = session
        .declare_publisher(KEY_THR)
        .congestion_control(control)
        .priority(priority)
        .express(cli.express)
        .wait()
        .unwrap_or_else(|e| fail("cannot declare the publisher of test/thr", e));
    send(&cli, || publisher.put(data.clone()).wait())
}

/// Puts in an endless loop.
fn send(cli: &Cli, mut put: impl FnMut() -> zenoh::Result<()>) -> ! {
    loop {
        let start = Instant::now();
        for _ in 0..cli.number {
            if let Err(e) = put() {
                fail("put on test/thr", e);
            }
        }
        if cli.print {
            let rate = cli.number as f64 / start.elapsed().as_secs_f64();
            line(format_args!("{rate:.0} msg/s"));
        }
    }
}
