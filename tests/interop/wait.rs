// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for conditions. Nothing here waits for time to pass.

use std::time::{Duration, Instant};

/// Time limit for every step, on a busy machine.
pub const LONG: Duration = Duration::from_secs(20);

/// Time limit for immediate effects, on a busy machine; less than the lease after which a silent
/// link is closed (10 s).
pub const SOON: Duration = Duration::from_secs(4);

/// Waits until the condition holds.
pub fn until(what: &str, condition: impl FnMut() -> bool) {
    until_within(LONG, what, condition);
}

/// Waits until the condition holds, for `limit` at most.
pub fn until_within(limit: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
