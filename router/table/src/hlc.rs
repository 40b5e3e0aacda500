// SPDX-License-Identifier: MIT OR Apache-2.0

//! [`Hlc`]: the hybrid logical clock of a node, whose timestamps are unique, increasing, and later
//! than every timestamp that the node has received.
//!
//! The caller passes the time of day, whose lowest four bits are replaced by a counter. The state
//! is one atomic word, without a lock.
//!
//! The clock's state ends with the process. So a node that restarts with the same configured id, on
//! a machine whose clock was set back by more than the time of the restart, may repeat timestamps.
//! Such a node should draw its id, which is the default, or wait until the clock has caught up.
//! While the node runs, a clock that is set back does no harm.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use zonda_codec::{Ntp64, Timestamp, ZenohId};

/// Bits of the time that count events (16 of them within 4 nanoseconds).
const COUNTER: u64 = 0xf;

/// Clock that creates timestamps for one node. Threads share it by reference.
///
/// ```
/// use std::time::Duration;
/// use zonda_codec::{Ntp64, ZenohId};
/// use zonda_table::hlc::Hlc;
///
/// let clock = Hlc::new(ZenohId::random_from(7));
/// let now = Ntp64::from_unix(Duration::from_secs(1_000_000_000));
/// let first = clock.new_timestamp(now);
/// assert!(clock.new_timestamp(now) > first);
/// ```
#[derive(Debug)]
pub struct Hlc {
    id: ZenohId,
    /// Time of the latest timestamp that was created or accepted.
    last: AtomicU64,
    /// Maximum distance of an accepted timestamp in the future, in NTP64 units.
    drift_max: u64,
}

/// Error of a timestamp that is too far in the future.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "timestamp {timestamp} is {ahead:?} ahead of this node's clock, more than the {limit:?} allowed"
)]
pub struct TooFarAhead {
    /// The refused timestamp.
    pub timestamp: Timestamp,
    /// The time by which it is ahead of the local clock.
    pub ahead: Duration,
    /// Maximum distance.
    pub limit: Duration,
}

zonda_codec::debug_as_text!(TooFarAhead);

impl Hlc {
    /// Maximum distance of other nodes' timestamps ahead of the local clock.
    pub const DRIFT_MAX: Duration = Duration::from_millis(500);

    /// Creates a clock for the timestamps of node `id`.
    pub const fn new(id: ZenohId) -> Self {
        Hlc {
            id,
            last: AtomicU64::new(0),
            drift_max: Ntp64::from_unix(Hlc::DRIFT_MAX).0,
        }
    }

    /// The node of the timestamps.
    #[inline]
    pub const fn id(&self) -> ZenohId {
        self.id
    }

    /// Returns a timestamp later than all before: `now` if it is later, else the successor of the
    /// latest.
    #[inline]
    pub fn new_timestamp(&self, now: Ntp64) -> Timestamp {
        self.new_timestamps(now, 1)
    }

    /// Returns the first of `count` timestamps, all later than those before; the rest follow
    /// directly, in steps of 1.
    #[inline]
    pub fn new_timestamps(&self, now: Ntp64, count: u64) -> Timestamp {
        let clock = now.0 & !COUNTER;
        let next = |last: u64| {
            if clock > last & !COUNTER {
                clock
            } else {
                last.saturating_add(1)
            }
        };
        let last = self.advance(|last| next(last).saturating_add(count.saturating_sub(1)));
        Timestamp::new(Ntp64(next(last)), self.id)
    }

    /// Accepts a timestamp of another node, so that later ones of this clock come after it.
    ///
    /// # Errors
    /// The timestamp is more than 500 ms ahead of `now`; the clock is then unchanged, and the
    /// router replaces the message's timestamp or drops the message.
    #[inline]
    pub fn update(&self, now: Ntp64, timestamp: &Timestamp) -> Result<(), TooFarAhead> {
        let clock = now.0 & !COUNTER;
        let time = timestamp.time().0;
        let ahead = time.saturating_sub(clock);
        if ahead > self.drift_max {
            return Err(TooFarAhead {
                timestamp: *timestamp,
                ahead: Ntp64(ahead).to_unix(),
                limit: Hlc::DRIFT_MAX,
            });
        }
        self.advance(|last| {
            if clock > last && clock > time {
                clock
            } else {
                last.max(time).saturating_add(1)
            }
        });
        Ok(())
    }

    /// Replaces the latest time by `next` of it; returns the time that it replaced.
    fn advance(&self, next: impl Fn(u64) -> u64) -> u64 {
        // Relaxed suffices: the word guards no other data, and only its own modification order
        // matters.
        let replaced = self
            .last
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| {
                Some(next(last))
            });
        replaced.unwrap_or_else(|last| last)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn at(milliseconds: u64) -> Ntp64 {
        Ntp64::from_unix(Duration::from_millis(1_700_000_000_000 + milliseconds))
    }

    fn clock() -> Hlc {
        Hlc::new(ZenohId::random_from(0xa1))
    }

    #[test]
    fn times_increase_even_if_the_clock_stands_or_goes_back() {
        let clock = clock();
        let first = clock.new_timestamp(at(10));
        assert_eq!(first.time().0, at(10).0 & !0xf);
        assert_eq!(first.id(), clock.id());
        let second = clock.new_timestamp(at(10));
        assert_eq!(second.time().0, first.time().0 + 1);
        let third = clock.new_timestamp(at(3));
        assert_eq!(third.time().0, second.time().0 + 1);
        let fourth = clock.new_timestamp(at(11));
        assert_eq!(fourth.time().0, at(11).0 & !0xf);
    }

    #[test]
    fn more_events_than_the_counter_holds_run_into_the_time() {
        let clock = clock();
        let times: Vec<_> = (0..100).map(|_| clock.new_timestamp(at(0))).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn times_in_a_row_are_taken_as_a_whole() {
        let clock = clock();
        let times = |now, count| clock.new_timestamps(now, count).time().0;
        let first = times(at(10), 64);
        assert_eq!(first, at(10).0 & !0xf);
        assert_eq!(times(at(10), 64), first + 64);
        assert_eq!(clock.new_timestamp(at(10)).time().0, first + 128);
        assert_eq!(times(at(11), 2), at(11).0 & !0xf);
    }

    #[test]
    fn timestamps_of_others_are_followed_up_to_500_ms() {
        let clock = clock();
        let other = ZenohId::random_from(0xb2);
        let near = Timestamp::new(at(400), other);
        assert_eq!(clock.update(at(0), &near), Ok(()));
        assert!(clock.new_timestamp(at(0)) > near);

        let old = Timestamp::new(at(0), other);
        assert_eq!(clock.update(at(1000), &old), Ok(()));
        assert_eq!(
            clock.new_timestamp(at(900)).time().0,
            (at(1000).0 & !0xf) + 1
        );

        let last = clock.new_timestamp(at(1000));
        let far = Timestamp::new(at(1502), other);
        let refused = clock.update(at(1000), &far).expect_err("too far ahead");
        assert_eq!(refused.limit, Duration::from_millis(500));
        assert!(refused.ahead > refused.limit && refused.ahead < Duration::from_millis(503));
        assert_eq!(clock.new_timestamp(at(1000)).time().0, last.time().0 + 1);
        let edge = Timestamp::new(Ntp64((at(1000).0 & !0xf) + (1 << 31)), other);
        assert_eq!(clock.update(at(1000), &edge), Ok(()));
    }

    #[test]
    fn the_end_of_time_does_not_overflow() {
        let clock = clock();
        let end = Timestamp::new(Ntp64(u64::MAX), ZenohId::random_from(1));
        assert_eq!(clock.update(Ntp64(u64::MAX), &end), Ok(()));
        assert_eq!(clock.new_timestamp(Ntp64(u64::MAX)).time(), Ntp64(u64::MAX));
    }

    #[test]
    fn threads_never_get_the_same_timestamp() {
        let clock = clock();
        let mut all: Vec<Timestamp> = Vec::new();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let clock = &clock;
                    scope.spawn(move || {
                        let step = |n: u64| clock.new_timestamp(at(n / 100 + thread % 2));
                        (0..5000).map(step).collect::<Vec<_>>()
                    })
                })
                .collect();
            for thread in threads {
                let times = thread.join().expect("the thread does not panic");
                assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
                all.extend(times);
            }
        });
        let distinct: HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
