// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells the starting process how many messages a receiver has got, so that telling costs the receiver
//! next to nothing and distorts no figure: small messages are counted by a thread of its own from time to
//! time; large ones tell themselves as they arrive, since a count taken between two of them would be off
//! by a good part of one.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::event::{Count, Event};

/// Messages of this many bytes tell themselves: there, looking at the clock is nothing.
const LARGE: usize = 64 * 1024;

/// Time between two counts if there is one receiver.
pub const PERIOD: Duration = Duration::from_millis(10);

/// Reports a count at most once in a period.
pub struct Reporter {
    start: Instant,
    period: Duration,
    last: Mutex<Option<Instant>>,
}

/// Calls this after each message.
pub type Arrived = Option<Arc<Reporter>>;

impl Reporter {
    /// Starts reporting `count`. For large messages it hands out what has to be reported of each.
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

    /// A large message has arrived, and so many altogether.
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
