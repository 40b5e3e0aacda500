// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits for the stalls that a peer causes: the rate that it has to keep, and the stall budget of
//! its sources.
//!
//! Pure functions of (state, counters, now): the outbox owns one [`StallClock`] for each [`Demand`]
//! and asks it only while a source waits for the peer.

use std::time::{Duration, Instant};

/// Window in which [`Isolation::stall`] may be used up once, and over which the offered rate is
/// averaged.
pub const STALL_WINDOW: Duration = Duration::from_secs(10);

/// Maximum time that one look charges a peer with. Sources look every few milliseconds; a source
/// that looks much later was delayed by its own machine, not by the peer.
const LOOK_MAX: Duration = Duration::from_millis(50);

/// Requirements for a peer so that its sources wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Isolation {
    /// Bytes per second that the peer has to take while a source waits for it, unless less than
    /// twice as much is offered to it. 0: any progress will do.
    pub min_rate: u64,
    /// Total time of all sources' waits for a slower peer within [`STALL_WINDOW`].
    pub stall: Duration,
    /// Time for which sources that only require progress wait for a peer that takes nothing.
    pub standstill: Duration,
    /// Bytes queued for the peer above which its sources pause.
    pub backlog_bytes: usize,
}

impl Default for Isolation {
    /// Returns 1 MiB/s, 500 ms, 5 s, 4 MiB.
    fn default() -> Self {
        Self {
            min_rate: 1 << 20,
            stall: Duration::from_millis(500),
            standstill: Duration::from_secs(5),
            backlog_bytes: 4 << 20,
        }
    }
}

/// Requirement of a waiting source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Demand {
    /// The peer keeps the rate of [`Isolation::min_rate`], because other peers wait behind this
    /// source.
    Pace,
    /// The peer takes any bytes within [`Isolation::standstill`].
    Progress,
}

/// Totals of a connection, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flow {
    /// Bytes that the peer has taken.
    pub taken: u64,
    /// Bytes that the peer has taken, and those that are queued for it.
    pub offered: u64,
}

/// Waiting time of all sources with one [`Demand`] of one peer.
#[derive(Debug, Default)]
pub struct StallClock {
    /// Number of waiting sources.
    waiting: usize,
    /// Waiting that the peer has not made good, in seconds.
    debt: f64,
    /// Time of the last update of `debt`, and the bytes taken by then. A debt from an earlier
    /// connection is not reduced by bytes that the socket takes before a source waits.
    looked: Option<(Instant, Option<u64>)>,
    offered: OfferedRate,
}

impl StallClock {
    /// Creates the clock of a peer that has reconnected, with the debt of its earlier connection.
    #[must_use]
    pub fn owing(now: Instant, debt: Duration) -> Self {
        StallClock {
            debt: debt.as_secs_f64(),
            looked: Some((now, None)),
            ..StallClock::default()
        }
    }

    /// Returns the waiting that the peer has not made good.
    #[must_use]
    pub fn debt(&self) -> Duration {
        Duration::try_from_secs_f64(self.debt).unwrap_or(Duration::MAX)
    }

    /// Notes that a source begins to wait.
    pub fn begin(&mut self, now: Instant, flow: Flow) {
        if self.waiting == 0 {
            self.forgive(now);
            // Bytes taken since the last look reduce the debt.
            let taken = self.looked.map_or(Some(flow.taken), |(_, taken)| taken);
            self.looked = Some((now, taken));
        }
        self.waiting += 1;
        self.offered.note(now, flow.offered);
    }

    /// Notes that a source has stopped waiting.
    pub fn end(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// Notes the bytes offered to a peer whose queues are full while no source waits for it.
    pub fn note_offered(&mut self, now: Instant, offered: u64) {
        self.offered.note(now, offered);
    }

    /// Charges the peer for the time since the last look; true once it has used up the stall budget
    /// of its sources.
    pub fn look(&mut self, now: Instant, flow: Flow, min_rate: u64, limit: Duration) -> bool {
        self.offered.note(now, flow.offered);
        let (since, taken) = self.looked.unwrap_or((now, None));
        let elapsed = now.saturating_duration_since(since).min(LOOK_MAX);
        let elapsed = elapsed.as_secs_f64();
        let progress = taken.map_or(0, |taken| flow.taken.saturating_sub(taken)) as f64;
        self.looked = Some((now, Some(flow.taken)));
        if min_rate == 0 {
            self.debt = if progress > 0.0 {
                0.0
            } else {
                self.debt + elapsed
            };
        } else {
            let pace = self.offered.halved(min_rate);
            let refill = elapsed * limit.as_secs_f64() / STALL_WINDOW.as_secs_f64();
            self.debt = (self.debt + elapsed - progress / pace - refill).max(0.0);
        }
        self.debt >= limit.as_secs_f64()
    }

    /// Reduces the debt by the share of the window that has passed while no source waited.
    fn forgive(&mut self, now: Instant) {
        let Some((since, _)) = self.looked else {
            return;
        };
        let idle = now.saturating_duration_since(since).as_secs_f64();
        self.debt *= (1.0 - idle / STALL_WINDOW.as_secs_f64()).max(0.0);
    }
}

/// Rate at which messages arrive for a peer whose queues are full.
#[derive(Debug, Default)]
struct OfferedRate {
    /// Start of the window, and the bytes offered by then.
    window: Option<(Instant, u64)>,
    /// Latest sample.
    last: Option<(Instant, u64)>,
    /// Rate of the previous window, in bytes per second.
    before: Option<f64>,
}

impl OfferedRate {
    /// Time after which the current window is used instead of the one before it.
    const SETTLED: Duration = Duration::from_secs(1);

    fn note(&mut self, now: Instant, offered: u64) {
        let stale = |(at, _)| now.saturating_duration_since(at) > STALL_WINDOW;
        if self.last.is_none_or(stale) {
            self.before = None;
            self.window = Some((now, offered));
        } else if self.window.is_some_and(stale) {
            self.before = self.rate();
            self.window = Some((now, offered));
        }
        self.last = Some((now, offered));
    }

    /// Returns the rate; `None` as long as none is known.
    fn rate(&self) -> Option<f64> {
        let ((begin, from), (end, to)) = self.window.zip(self.last)?;
        let elapsed = end.saturating_duration_since(begin);
        if elapsed < Self::SETTLED && self.before.is_some() {
            return self.before;
        }
        let seconds = elapsed.as_secs_f64();
        (seconds > 0.0).then(|| to.saturating_sub(from) as f64 / seconds)
    }

    /// Returns `min_rate`, or half of the offered rate where that is less; at least one byte per
    /// second.
    fn halved(&self, min_rate: u64) -> f64 {
        let min_rate = min_rate as f64;
        self.rate()
            .map_or(min_rate, |rate| min_rate.min(rate / 2.0))
            .max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(500);
    const MIN_RATE: u64 = 1 << 20;

    /// Simulates a source that offers without end to a peer that takes `rate` bytes per second in
    /// chunks of `chunk`; returns the time after which the peer has used up its budget.
    fn spent_after(rate: u64, chunk: u64) -> Option<Duration> {
        let begin = Instant::now();
        let mut clock = StallClock::default();
        let backlog = 4 << 20;
        let offer = |taken: u64| Flow {
            taken,
            offered: taken + backlog,
        };
        clock.note_offered(begin - Duration::from_millis(50), 0);
        clock.begin(begin, offer(0));
        for step in 1..2000_u32 {
            let elapsed = Duration::from_millis(10) * step;
            let taken = (rate as u128 * elapsed.as_millis() / 1000) as u64 / chunk * chunk;
            if clock.look(begin + elapsed, offer(taken), MIN_RATE, LIMIT) {
                return Some(elapsed);
            }
        }
        None
    }

    #[test]
    fn a_peer_that_takes_nothing_has_its_budget_and_no_more() {
        let spent = spent_after(0, 1).expect("it is spent");
        assert!(spent >= LIMIT && spent <= LIMIT * 11 / 10, "{spent:?}");
    }

    #[test]
    fn a_slow_peer_is_judged_by_its_pace_and_not_by_the_moment() {
        let spent = spent_after(60_000, 30_000).expect("it is spent");
        assert!(spent <= Duration::from_millis(700), "{spent:?}");
    }

    #[test]
    fn a_peer_that_keeps_pace_is_waited_for_without_end() {
        assert_eq!(spent_after(MIN_RATE, 1), None);
        assert_eq!(spent_after(2 * MIN_RATE, 128 * 1024), None);
        assert_eq!(spent_after(40 * MIN_RATE, 64 * 1024), None);
    }

    #[test]
    fn half_of_what_is_offered_is_enough() {
        let begin = Instant::now();
        let mut clock = StallClock::default();
        // The source offers 100 kB/s, the peer takes 60 kB/s; the backlog is full before.
        let flow = |at: Duration| Flow {
            taken: (60.0 * at.as_millis() as f64) as u64,
            offered: 4_000_000 + (100.0 * at.as_millis() as f64) as u64,
        };
        clock.note_offered(begin, flow(Duration::ZERO).offered);
        clock.note_offered(begin + STALL_WINDOW, flow(STALL_WINDOW).offered);
        let waits = begin + STALL_WINDOW;
        clock.begin(waits, flow(STALL_WINDOW));
        for step in 1..6000_u32 {
            let elapsed = Duration::from_millis(10) * step;
            let spent = clock.look(
                waits + elapsed,
                flow(STALL_WINDOW + elapsed),
                MIN_RATE,
                LIMIT,
            );
            assert!(!spent, "{elapsed:?}");
        }
    }

    #[test]
    fn progress_of_any_size_ends_a_standstill() {
        let begin = Instant::now();
        let mut clock = StallClock::default();
        let at = |ms| begin + Duration::from_millis(ms);
        let flow = |taken| Flow { taken, offered: 0 };
        clock.begin(begin, flow(0));
        let mut spent = |from: u64, to, taken| {
            let looks = (from..to).step_by(20).map(|ms| at(ms + 20));
            looks.fold(false, |_, now| clock.look(now, flow(taken), 0, LIMIT))
        };
        assert!(!spent(0, 400, 0));
        assert!(!spent(400, 800, 1));
        assert!(!spent(800, 900, 1));
        assert!(spent(900, 1000, 1));
    }

    #[test]
    fn a_source_that_looks_late_blames_nobody() {
        let begin = Instant::now();
        let mut clock = StallClock::default();
        let flow = Flow::default();
        clock.begin(begin, flow);
        for second in 1..5 {
            let now = begin + Duration::from_secs(second);
            assert!(!clock.look(now, flow, MIN_RATE, LIMIT), "{second}");
        }
    }

    #[test]
    fn many_sources_wait_at_the_same_time() {
        let begin = Instant::now();
        let mut clock = StallClock::default();
        let flow = Flow::default();
        for _ in 0..10 {
            clock.begin(begin, flow);
        }
        for ms in [100, 200, 300, 400] {
            let now = begin + Duration::from_millis(ms);
            assert!(!clock.look(now, flow, MIN_RATE, LIMIT), "{ms}");
            assert!(!clock.look(now, flow, MIN_RATE, LIMIT), "{ms}");
        }
    }

    /// Time, not the bytes that its socket takes at once, pays the debt of an earlier connection.
    #[test]
    fn a_peer_that_returns_owes_what_it_owed() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let flow = |taken| Flow {
            taken,
            offered: taken + (4 << 20),
        };
        let first_wait = |returns: u64| {
            let mut clock = StallClock::owing(begin, LIMIT);
            clock.begin(at(returns), flow(3 << 20));
            let looks = (0..60).map(|look| returns + 10 * look);
            let spent = looks.map(|ms| (ms, clock.look(at(ms), flow(3 << 20), MIN_RATE, LIMIT)));
            spent.filter(|(_, spent)| *spent).map(|(ms, _)| ms).next()
        };
        assert_eq!(first_wait(0), Some(0));
        assert!(first_wait(1000).is_some_and(|ms| (1050..1080).contains(&ms)));
        assert!(first_wait(10_000).is_some_and(|ms| ms >= 10_500));
        assert_eq!(StallClock::owing(begin, LIMIT).debt(), LIMIT);
    }

    #[test]
    fn what_was_waited_is_forgiven_in_time() {
        let begin = Instant::now();
        let mut clock = StallClock::default();
        let flow = Flow::default();
        let wait = |clock: &mut StallClock, from: Instant, length: Duration| {
            clock.begin(from, flow);
            let looks = (1..=length.as_millis() as u64 / 20).map(|look| 20 * look);
            let spent = looks.fold(false, |_, ms| {
                let now = from + Duration::from_millis(ms);
                clock.look(now, flow, MIN_RATE, LIMIT)
            });
            clock.end();
            spent
        };
        assert!(!wait(&mut clock, begin, Duration::from_millis(400)));
        let later = begin + STALL_WINDOW * 2;
        assert!(!wait(&mut clock, later, Duration::from_millis(400)));
        let soon = later + Duration::from_millis(500);
        assert!(wait(&mut clock, soon, Duration::from_millis(200)));
    }
}
