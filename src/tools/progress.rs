// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports of long work, from time to time.

use std::time::{Duration, Instant};

/// Time between two reports.
const PAUSE: Duration = Duration::from_secs(10);

/// The time of the last report.
pub struct Progress(Instant);

impl Progress {
    /// Begins the time until the first report.
    pub fn new() -> Self {
        Progress(Instant::now())
    }

    /// Returns true if it is time for a report, and begins the time until the next one.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.0.elapsed() >= PAUSE;
        if is_due {
            self.0 = Instant::now();
        }
        is_due
    }
}
