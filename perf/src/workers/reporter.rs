// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of a receiver for the process that started it, at a negligible cost that distorts no
//! figure: a separate thread reports the count of small messages periodically; large messages are
//! reported as they arrive, because a count between two of them would be wrong by a large part of
//! one.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::event::{Count, Event};

/// The size from which messages are reported as they arrive: reading the clock is then negligible.
const LARGE: usize = 64 * 1024;

/// Interval of the counts of a single receiver.
pub const PERIOD: Duration = Duration::from_millis(10);

/// A reporter that prints a count at most once in a period.
pub struct Reporter {
    start: Instant,
    period: Duration,
    last: Mutex<Option<Instant>>,
}

/// The reporter to call after each large message.
pub type Arrived = Option<Arc<Reporter>>;

impl Reporter {
    /// Starts to report `count`. For large messages, returns the reporter to call after each.
    pub fn start(
        size: usize,
        period: Duration,
        count: impl Fn() -> u64 + Send + 'static,
    ) -> Arrived {
        let reporter = Reporter {
            start: Instant::now(),
            period,
            last: Mutex::new(None),
        };
        if size >= LARGE {
            return Some(Arc::new(reporter));
        }
        thread::spawn(move || {
            loop {
                thread::sleep(reporter.period);
                reporter.tell(count());
            }
        });
        None
    }

    /// Reports that a large message has arrived; `count` is the total.
    pub fn arrived(&self, count: impl FnOnce() -> u64) {
        let now = Instant::now();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| now.saturating_duration_since(last) >= self.period) {
            *last = Some(now);
            // under the lock, or a smaller count might follow a larger one
            self.tell(count());
        }
    }

    fn tell(&self, messages: u64) {
        let nanos = self.start.elapsed().as_nanos() as u64;
        if messages > 0 {
            Event::Count(Count { messages, nanos }).say();
        }
    }
}
