// SPDX-License-Identifier: MIT OR Apache-2.0
//! When messages are due. Pure: reads no clock and waits for nothing.

use std::time::{Duration, Instant};

/// A sleep ends this long before it should; the rest is spent letting other tasks run.
pub const MARGIN: Duration = Duration::from_micros(60);

/// The moments at which messages are due, an interval apart from the start, whatever happens meanwhile:
/// a late answer shifts nothing, and what was missed is made up for.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    next: Instant,
    interval: Duration,
}

/// What to do until a message is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It is due.
    Go,
    /// Too short for a timer.
    Yield,
    /// Long enough for a timer of this time.
    Sleep(Duration),
}

impl Schedule {
    /// The first message is due at `start`.
    pub fn new(start: Instant, interval: Duration) -> Self {
        Schedule {
            next: start,
            interval,
        }
    }

    /// When the next message is due; the one after it is due an interval later.
    pub fn due(&mut self) -> Instant {
        let due = self.next;
        self.next += self.interval;
        due
    }

    /// What to do at `now` for a message that is due at `due`.
    pub fn rest(now: Instant, due: Instant) -> Rest {
        let left = due.saturating_duration_since(now);
        match left.checked_sub(MARGIN) {
            _ if left.is_zero() => Rest::Go,
            Some(sleep) if !sleep.is_zero() => Rest::Sleep(sleep),
            _ => Rest::Yield,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_an_interval_apart_from_the_start() {
        let start = Instant::now();
        let interval = Duration::from_micros(10);
        let mut schedule = Schedule::new(start, interval);
        let due: Vec<Duration> = (0..4).map(|_| schedule.due() - start).collect();
        assert_eq!(due, [0, 10, 20, 30].map(Duration::from_micros));
    }

    #[test]
    fn back_to_back_is_always_due() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, Duration::ZERO);
        for _ in 0..3 {
            assert_eq!(Schedule::rest(start, schedule.due()), Rest::Go);
        }
    }

    #[test]
    fn only_long_rests_are_slept() {
        let now = Instant::now();
        let rest = |micros| Schedule::rest(now, now + Duration::from_micros(micros));
        assert_eq!(rest(0), Rest::Go);
        assert_eq!(rest(1), Rest::Yield);
        assert_eq!(rest(60), Rest::Yield);
        assert_eq!(rest(61), Rest::Sleep(Duration::from_micros(1)));
        assert_eq!(rest(1060), Rest::Sleep(Duration::from_millis(1)));
        let late = Schedule::rest(now + Duration::from_secs(1), now);
        assert_eq!(late, Rest::Go);
    }
}
