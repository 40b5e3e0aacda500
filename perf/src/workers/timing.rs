// SPDX-License-Identifier: MIT OR Apache-2.0
//! Duration of the recording, and pace of the messages.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use zonda_program::seconds;

use crate::scenario::rates::rate;

/// The time that a sleep may take longer than requested; the rest of a pause is a busy wait.
const SLEEP_SLACK: Duration = Duration::from_micros(100);

/// Duration and rate.
#[derive(Args, Clone, Copy, Debug)]
pub struct Timing {
    /// Record for this long
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub seconds: Duration,
    /// Before that, go round without recording for this long
    #[arg(long, value_name = "SECONDS", default_value = "0.3", value_parser = seconds)]
    pub warm_up: Duration,
    /// Messages per second, each sent when it is due [default: back to back]
    #[arg(long, value_name = "N", value_parser = rate)]
    pub rate: Option<f64>,
    /// One message at a time, with this time between the starts of two
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "rate")]
    pub interval: Option<Duration>,
}

/// A pace for messages.
pub struct Pacer {
    interval: Option<Duration>,
    due: Instant,
}

impl Pacer {
    /// Creates a pace of this many messages a second from now on; `None` is unlimited.
    pub fn new(pace: Option<u32>) -> Self {
        Pacer {
            interval: pace.map(|pace| Duration::from_secs(1) / pace.max(1)),
            due: Instant::now(),
        }
    }

    /// Waits until the next message is due. A delay beyond [`SLEEP_SLACK`] is not caught up.
    #[inline]
    pub fn wait(&mut self) {
        if let Some(interval) = self.interval {
            wait_until(self.due);
            let late = Instant::now().saturating_duration_since(self.due);
            self.due += interval + late.saturating_sub(SLEEP_SLACK);
        }
    }
}

/// Waits until a time, with a busy wait at the end.
pub fn wait_until(when: Instant) {
    let left = when.saturating_duration_since(Instant::now());
    if left > SLEEP_SLACK {
        thread::sleep(left - SLEEP_SLACK);
    }
    while Instant::now() < when {
        hint::spin_loop();
    }
}
