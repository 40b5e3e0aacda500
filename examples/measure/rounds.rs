// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages counted in rounds that follow each other without a gap.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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
    /// Messages in a round [default: as many as come in a second]
    #[arg(short, long, value_name = "MESSAGES")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub number: Option<u64>,
}

/// Messages between two looks at the clock where a round lasts a second.
const STEP: u64 = 1000;

/// Minimum time of a round without a number of messages.
const SECOND: Duration = Duration::from_secs(1);

/// Rounds follow each other without a gap; the first message of all starts the clock.
pub struct Rounds {
    /// Messages between two looks at the clock.
    step: u64,
    seen: AtomicU64,
    least: Duration,
    state: Mutex<State>,
}

struct State {
    /// Begin of the round.
    began: Option<Instant>,
    /// Messages of the round so far.
    messages: u64,
    /// Rounds that are left.
    left: u64,
}

/// A round that is over.
pub struct Round {
    pub messages: u64,
    pub seconds: f64,
    pub is_last: bool,
}

impl Rounds {
    /// Creates the rounds of these flags.
    pub fn new(counting: &Counting) -> Self {
        // one less than nothing: the first message is not counted, it starts the clock
        Rounds {
            step: counting.number.unwrap_or(STEP),
            seen: AtomicU64::new(u64::MAX),
            least: counting.number.map_or(SECOND, |_| Duration::ZERO),
            state: Mutex::new(State {
                began: None,
                messages: 0,
                left: counting.rounds,
            }),
        }
    }

    /// Counts one message; returns a round if it ends with this message.
    pub fn count(&self) -> Option<Round> {
        // most calls only count
        let seen = self.seen.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if seen != 0 && seen != self.step {
            return None;
        }
        // the first message begins the first round
        let now = Instant::now();
        let mut state = self.state.lock().ok()?;
        let Some(began) = state.began else {
            state.began = Some(now);
            return None;
        };
        // a round ends once it is long enough
        self.seen.fetch_sub(self.step, Ordering::Relaxed);
        state.messages += self.step;
        let passed = now - began;
        if passed < self.least {
            return None;
        }
        state.began = Some(now);
        let messages = std::mem::take(&mut state.messages);
        state.left = state.left.checked_sub(1)?;
        Some(Round {
            messages,
            seconds: passed.as_secs_f64(),
            is_last: state.left == 0,
        })
    }
}

/// Prints the rate of a round, or of the sending for that long.
pub fn print_rate(messages: u64, seconds: f64, as_json: bool) {
    let rate = messages as f64 / seconds;
    if as_json {
        let line = json!({"messages": messages, "seconds": seconds, "msg_per_s": rate});
        program::print(format_args!("{line}"));
    } else {
        program::print(format_args!("{rate:.0} msg/s"));
    }
}
