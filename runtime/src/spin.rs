// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bounded busy poll: before a thread sleeps for a socket, it polls the socket for a while.
//!
//! A sleeping thread is woken some 5 to 50 us after the bytes arrived. A polling thread has them at
//! once, at the cost of one processor. Pure: reads no clock.

use std::time::{Duration, Instant};

/// The duration of the poll before a thread sleeps. Zero, the default: no poll.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spin {
    limit: Duration,
}

impl Spin {
    pub(crate) fn new(limit: Duration) -> Spin {
        Spin { limit }
    }

    /// Starts a poll at the time that `now` returns; `now` is not called if the poll is disabled.
    #[inline]
    pub(crate) fn start(self, now: impl FnOnce() -> Instant) -> Option<Spinning> {
        (!self.limit.is_zero()).then(|| Spinning {
            until: now() + self.limit,
        })
    }
}

/// A busy poll in progress.
#[derive(Debug)]
pub(crate) struct Spinning {
    until: Instant,
}

impl Spinning {
    /// Returns true if the thread should poll once more at `now`.
    pub(crate) fn goes_on(&self, now: Instant) -> bool {
        now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_off_by_default_and_reads_no_clock_then() {
        let spinning = Spin::default().start(|| unreachable!("nothing is timed"));
        assert!(spinning.is_none());
    }

    #[test]
    fn it_asks_until_its_limit_after_the_start_and_no_more() {
        let start = Instant::now();
        let micros = |n| start + Duration::from_micros(n);
        let spin = Spin::new(Duration::from_micros(50));
        let spinning = spin.start(|| start).expect("it is on");
        let asked = (0..1000).filter(|n| spinning.goes_on(micros(*n))).count();
        assert_eq!(asked, 50);
        assert!(!spinning.goes_on(micros(50)));
    }
}
