// SPDX-License-Identifier: MIT OR Apache-2.0
//! Due times of messages, and the way to wait for them. Pure: reads no clock and does not wait.

use std::time::{Duration, Instant};

/// The time by which a sleep ends early; the rest is spent yielding to other tasks.
pub const MARGIN: Duration = Duration::from_micros(60);

/// The due times of messages, at a fixed interval from the start: a late answer does not shift
/// them, and missed messages are caught up.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    next: Instant,
    interval: Duration,
}

/// The due times of a run's messages at a rate, by number: the delay of an answer counts from
/// there, whenever its message could be sent.
#[derive(Clone, Copy, Debug)]
pub struct Timetable {
    start: Instant,
    nanos: f64,
}

impl Timetable {
    /// Creates a table in which message 0 is due at `start`, followed by `rate` messages each
    /// second; `rate` must be positive.
    pub fn new(start: Instant, rate: f64) -> Self {
        Timetable {
            start,
            nanos: 1e9 / rate,
        }
    }

    /// Returns the due time of message `number`.
    pub fn due(&self, number: u64) -> Instant {
        self.start + Duration::from_nanos((number as f64 * self.nanos) as u64)
    }

    /// Returns the number of messages due by `now`.
    pub fn due_by(&self, now: Instant) -> u64 {
        match now.checked_duration_since(self.start) {
            None => 0,
            Some(passed) => (passed.as_nanos() as f64 / self.nanos) as u64 + 1,
        }
    }
}

/// The way to wait for a due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMethod {
    /// The message is due.
    Go,
    /// Yield: the wait is too short for a timer.
    Yield,
    /// Sleep for this time with a timer.
    Sleep(Duration),
}

impl Schedule {
    /// Creates a schedule whose first message is due at `start`.
    pub fn new(start: Instant, interval: Duration) -> Self {
        Schedule {
            next: start,
            interval,
        }
    }

    /// Returns the due time of the next message; the one after it is due an interval later.
    pub fn due(&mut self) -> Instant {
        let due = self.next;
        self.next += self.interval;
        due
    }

    /// Returns the way to wait at `now` for a message that is due at `due`.
    pub fn rest(now: Instant, due: Instant) -> WaitMethod {
        let left = due.saturating_duration_since(now);
        match left.checked_sub(MARGIN) {
            _ if left.is_zero() => WaitMethod::Go,
            Some(sleep) if !sleep.is_zero() => WaitMethod::Sleep(sleep),
            _ => WaitMethod::Yield,
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
    fn a_timetable_knows_each_message() {
        let start = Instant::now();
        let table = Timetable::new(start, 1e6);
        assert_eq!(table.due(0), start);
        assert_eq!(table.due(2_500_000), start + Duration::from_millis(2500));
        let after = |nanos| table.due_by(start + Duration::from_nanos(nanos));
        assert_eq!(
            [after(0), after(999), after(1000), after(5001)],
            [1, 1, 2, 6]
        );
        assert_eq!(
            Timetable::new(start + Duration::from_secs(1), 1.0).due_by(start),
            0
        );
        let thirds = Timetable::new(start, 3.0);
        assert_eq!(
            thirds.due(3_000_000),
            start + Duration::from_secs(1_000_000)
        );
    }

    #[test]
    fn back_to_back_is_always_due() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, Duration::ZERO);
        for _ in 0..3 {
            assert_eq!(Schedule::rest(start, schedule.due()), WaitMethod::Go);
        }
    }

    #[test]
    fn only_long_rests_are_slept() {
        let now = Instant::now();
        let rest = |micros| Schedule::rest(now, now + Duration::from_micros(micros));
        assert_eq!(rest(0), WaitMethod::Go);
        assert_eq!(rest(1), WaitMethod::Yield);
        assert_eq!(rest(60), WaitMethod::Yield);
        assert_eq!(rest(61), WaitMethod::Sleep(Duration::from_micros(1)));
        assert_eq!(rest(1060), WaitMethod::Sleep(Duration::from_millis(1)));
        let late = Schedule::rest(now + Duration::from_secs(1), now);
        assert_eq!(late, WaitMethod::Go);
    }
}
