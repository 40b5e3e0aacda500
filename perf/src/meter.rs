// SPDX-License-Identifier: MIT OR Apache-2.0
//! A receiver's counter and the thread that reports it, so that counting costs the receiver next to
//! nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::thr::reporter::Reporter;

/// Time between two reports.
const PERIOD: Duration = Duration::from_millis(10);

/// Messages received so far. Clones count together.
#[derive(Clone)]
pub struct Meter(Arc<AtomicU64>);

impl Meter {
    /// Starts at zero and reports every 10 ms, from the first message on.
    pub fn start() -> Self {
        let meter = Meter(Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&meter.0);
        // whatever the size of the messages, a thread looks at the count
        Reporter::start(0, PERIOD, move || count.load(Ordering::Relaxed));
        meter
    }

    /// Sets the count. Only one thread at a time may call this.
    pub fn set(&self, messages: u64) {
        self.0.store(messages, Ordering::Relaxed);
    }

    /// Counts one message. Only one thread at a time may call this: that makes it two plain moves
    /// instead of a locked instruction, which would show in the result.
    pub fn count_one(&self) {
        self.set(self.0.load(Ordering::Relaxed) + 1);
    }
}
