// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deadlines of caller-chosen waits: `Duration::MAX` means for ever, and must not overflow.

use std::time::{Duration, Instant};

/// Upper bound of a wait: thirty years, which every clock can represent.
const WAIT_MAX: Duration = Duration::from_secs(30 * 365 * 86_400);

/// Returns the deadline of a `wait` that starts now.
#[must_use]
pub fn after(wait: Duration) -> Instant {
    later(Instant::now(), wait)
}

/// Returns the deadline of a `wait` from `start`.
#[must_use]
pub fn later(start: Instant, wait: Duration) -> Instant {
    start + wait.min(WAIT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wait_is_too_long() {
        let now = Instant::now();
        assert_eq!(
            later(now, Duration::from_secs(1)),
            now + Duration::from_secs(1)
        );
        let for_ever = later(now, Duration::MAX);
        assert!(for_ever > now + Duration::from_secs(86_400) && after(Duration::MAX) >= for_ever);
    }
}
