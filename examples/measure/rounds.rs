// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages counted in rounds that follow each other without a gap.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use zonda_program as program;

/// The flags that say what is counted.
#[derive(Args)]
pub struct Counting {
    /// Rounds to measure before leaving
    #[arg(
        short = 's',
        long = "samples",
        value_name = "ROUNDS",
        default_value_t = 10
    )]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub rounds: u64,
    /// Messages in a round
    #[arg(short, long, value_name = "MESSAGES", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub number: u64,
}

/// Rounds follow each other without a gap; the first message of all starts the clock.
pub struct Rounds {
    size: u64,
    seen: AtomicU64,
    /// When the round began, and how many are left.
    state: Mutex<(Option<Instant>, u64)>,
}

impl Rounds {
    /// So many `rounds` of `size` messages.
    pub fn new(size: u64, rounds: u64) -> Self {
        // one less than nothing: the first message is not counted, it starts the clock
        Rounds {
            size,
            seen: AtomicU64::new(u64::MAX),
            state: Mutex::new((None, rounds)),
        }
    }

    /// Counts one message. At the end of a round, its seconds and whether it was the last.
    pub fn count(&self) -> Option<(f64, bool)> {
        let seen = self.seen.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if seen != 0 && seen != self.size {
            return None;
        }
        let now = Instant::now();
        let mut state = self.state.lock().ok()?;
        let (began, left) = &mut *state;
        let seconds = began
            .replace(now)
            .map(|began| (now - began).as_secs_f64())?;
        self.seen.fetch_sub(self.size, Ordering::Relaxed);
        *left = left.checked_sub(1)?;
        Some((seconds, *left == 0))
    }
}

/// Prints the rate of a round, or of that much sending.
pub fn print_rate(messages: u64, seconds: f64, as_json: bool) {
    let rate = messages as f64 / seconds;
    if as_json {
        let line = json!({"messages": messages, "seconds": seconds, "msg_per_s": rate});
        program::print(format_args!("{line}"));
    } else {
        program::print(format_args!("{rate:.0} msg/s"));
    }
}
