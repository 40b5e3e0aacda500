// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts messages, on `test/thr` by default, and prints the rate of each round.

use std::sync::mpsc;
use std::time::Instant;

use clap::Parser;
use zenoh::Wait;
use zenoh_peers::{Common, KEY_THR, Mode, fail, line};

/// Counts messages and prints `<number> msg/s` once per round.
#[derive(Parser)]
struct Cli {
    /// Rounds to measure before leaving
    #[arg(
        short = 's',
        long = "samples",
        default_value_t = 10,
        value_name = "ROUNDS"
    )]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Messages in a round
    #[arg(short, long, default_value_t = 100_000, value_name = "MESSAGES")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    number: u64,
    /// Key expression to subscribe to
    #[arg(short, long, default_value = KEY_THR, value_name = "KEY")]
    key: String,
    #[command(flatten)]
    common: Common,
}

/// Rounds of a count: the first message ever starts the clock; after that rounds follow each other
/// without a gap.
struct Rounds {
    per_round: u64,
    left: u64,
    seen: u64,
    since: Option<Instant>,
}

impl Rounds {
    /// Counts one message; returns true if the last round has just ended.
    fn count(&mut self) -> bool {
        let Some(since) = self.since else {
            self.since = Some(Instant::now());
            return false;
        };
        if self.left == 0 {
            return false;
        }
        self.seen += 1;
        if self.seen < self.per_round {
            return false;
        }
        let now = Instant::now();
        let rate = self.per_round as f64 / (now - since).as_secs_f64();
        // of huge messages less than one may come in a second
        let decimals = if rate < 1000.0 { 3 } else { 0 };
        line(format_args!("{rate:.decimals$} msg/s"));
        self.seen = 0;
        self.since = Some(now);
        self.left -= 1;
        self.left == 0
    }
}

fn main() {
    let cli = Cli::parse();
    let session = cli.common.open(Mode::Peer, &[]);
    let mut rounds = Rounds {
        per_round: cli.number,
        left: cli.rounds,
        seen: 0,
        since: None,
    };
    let (done, finished) = mpsc::channel();
    let _subscriber = session
        .declare_subscriber(&cli.key)
        .callback_mut(move |_sample| {
            if rounds.count() {
                // main may already be leaving
                let _ = done.send(());
            }
        })
        .wait()
        .unwrap_or_else(|e| fail(format_args!("cannot subscribe to {}", cli.key), e));
    if finished.recv().is_err() {
        fail(
            "the subscription ended",
            "the session was closed before the last round",
        );
    }
    std::process::exit(0)
}
