// SPDX-License-Identifier: MIT OR Apache-2.0

//! Shares of a cache: a neighbour that queries it, by itself or for nodes behind it, has one.
//!
//! A query may get as an answer all that the cache holds. A neighbour gets that twice at once, and
//! from then on half of it each second; answers that are larger than a few samples take turns. An
//! answer that waits keeps no samples: they are chosen when its turn has come. A late answer is not
//! lost: the cache sends the rest of it as long as its query is open.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use event_listener::Event;
use parking_lot::Mutex;
use zonda_codec::ZenohId;

/// Limit of the bytes of an answer that takes no turn and has its own budget: recoveries are small.
const SMALL: usize = 256 << 10;

/// Limit of the larger answers that are sent to one neighbour at the same time.
const TURNS: usize = 8;

/// Limit of the queries of one neighbour that may wait for a turn or for the budget. The cache does
/// not answer a further one.
const WAITING_MAX: usize = 1024;

/// Minimum of the bytes that a neighbour gets at once, whatever the cache holds.
const BURST_MIN: usize = 16 << 20;

/// Number of shares from which on a new one evicts the shares of idle neighbours.
const LOOK_AT: usize = 64;

/// Budget: bytes that may be sent now, and the bytes that each second adds. Below zero they are
/// lent.
#[derive(Debug)]
struct Budget {
    left: f64,
    full: f64,
    at: Instant,
}

impl Budget {
    fn new(full: f64, now: Instant) -> Budget {
        let left = full;
        Budget {
            left,
            full,
            at: now,
        }
    }

    /// Returns bytes that are not sent to the budget.
    fn give_back(&mut self, bytes: usize) {
        self.left += bytes as f64;
    }

    /// Takes bytes, and returns the time to wait until they may be sent.
    fn take(&mut self, bytes: usize, now: Instant) -> Duration {
        let each_second = self.full / 4.0;
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * each_second).min(self.full) - bytes as f64;
        self.at = now;
        Duration::from_secs_f64((-self.left).max(0.0) / each_second)
    }
}

/// Use of a share.
#[derive(Debug)]
struct ShareUse {
    small: Budget,
    large: Budget,
    answering: usize,
    waiting: usize,
}

/// The share of one neighbour.
#[derive(Debug)]
pub(super) struct Share {
    state: Mutex<ShareUse>,
    /// Event that an answer has ended.
    ended: Event,
}

/// The shares of all neighbours.
#[derive(Debug)]
pub(super) struct Shares {
    burst: usize,
    all: Mutex<HashMap<ZenohId, Arc<Share>>>,
}

/// The place of an answer among those of its neighbour.
pub(super) struct AnswerSlot {
    share: Arc<Share>,
    is_small: bool,
    /// Bytes that the query was charged for when it came, and that have not been sent.
    paid: usize,
}

/// A query that has come.
pub(super) struct Queued {
    share: Arc<Share>,
    /// Bytes of a small answer, which is charged when the query comes; `None` for a large one,
    /// which takes a turn.
    small: Option<usize>,
    pause: Duration,
    /// Set while it counts among the waiting queries.
    is_waiting: bool,
}

impl Shares {
    /// Creates the shares of a cache that keeps at most so many bytes.
    pub fn new(max_bytes: usize) -> Shares {
        Shares {
            burst: max_bytes.saturating_mul(2).max(BURST_MIN),
            all: Mutex::default(),
        }
    }

    /// Returns the share of this neighbour.
    pub fn of(&self, neighbour: ZenohId, now: Instant) -> Arc<Share> {
        let mut all = self.all.lock();
        if all.len() >= LOOK_AT && !all.contains_key(&neighbour) {
            all.retain(|_, share| Arc::strong_count(share) > 1 || !share.is_whole(now));
        }
        let share = all.entry(neighbour).or_insert_with(|| {
            let full = self.burst as f64;
            Arc::new(Share {
                state: Mutex::new(ShareUse {
                    small: Budget::new(full, now),
                    large: Budget::new(full, now),
                    answering: 0,
                    waiting: 0,
                }),
                ended: Event::new(),
            })
        });
        Arc::clone(share)
    }
}

impl Share {
    /// Returns true if it equals a new share: nothing is missing from its budgets.
    fn is_whole(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.small.take(0, now);
        state.large.take(0, now);
        let is_full = |budget: &Budget| budget.left >= budget.full;
        is_full(&state.small) && is_full(&state.large)
    }

    /// Queues a query for an answer of so many bytes; `None` if it would have to wait and too many
    /// do.
    pub fn queue(self: &Arc<Self>, bytes: usize, now: Instant) -> Option<Queued> {
        let small = (bytes <= SMALL).then_some(bytes);
        let mut state = self.state.lock();
        let pause = small.map_or(Duration::ZERO, |bytes| state.small.take(bytes, now));
        let is_waiting = small.is_none() || !pause.is_zero();
        if is_waiting && state.waiting >= WAITING_MAX {
            state.small.give_back(small.unwrap_or(0));
            return None;
        }
        state.waiting += usize::from(is_waiting);
        drop(state);
        Some(Queued {
            share: Arc::clone(self),
            small,
            pause,
            is_waiting,
        })
    }

    fn has_turn(&self) -> bool {
        let mut state = self.state.lock();
        let has_turn = state.answering < TURNS;
        state.answering += usize::from(has_turn);
        has_turn
    }
}

impl Queued {
    /// Returns the time until the budget has room for the answer: to be waited for before
    /// [`turn`](Self::turn).
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Waits for the turn of a large answer.
    pub async fn turn(self) -> AnswerSlot {
        let share = Arc::clone(&self.share);
        while self.small.is_none() && !share.has_turn() {
            let ended = share.ended.listen();
            if share.has_turn() {
                break;
            }
            ended.await;
        }
        AnswerSlot {
            share,
            is_small: self.small.is_some(),
            paid: self.small.unwrap_or(0),
        }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.share.state.lock().waiting -= usize::from(self.is_waiting);
    }
}

impl AnswerSlot {
    /// Charges bytes that are sent, and returns the time to wait before the next ones.
    pub fn take(&mut self, bytes: usize, now: Instant) -> Duration {
        let paid = self.paid.min(bytes);
        self.paid -= paid;
        let bytes = bytes - paid;
        if bytes == 0 {
            return Duration::ZERO;
        }
        let mut state = self.share.state.lock();
        match self.is_small {
            true => state.small.take(bytes, now),
            false => state.large.take(bytes, now),
        }
    }
}

impl Drop for AnswerSlot {
    fn drop(&mut self) {
        if !self.is_small {
            self.share.state.lock().answering -= 1;
            self.share.ended.notify(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use zonda_runtime::block_on;

    use super::*;

    const CACHE: usize = 64 << 20;

    fn id(number: u128) -> ZenohId {
        ZenohId::random_from(number)
    }

    fn turn(share: &Arc<Share>, bytes: usize, now: Instant) -> AnswerSlot {
        let queued = share.queue(bytes, now).expect("few wait");
        assert_eq!(queued.pause(), Duration::ZERO);
        block_on(queued.turn())
    }

    #[test]
    fn a_neighbour_gets_all_there_is_twice_at_once_and_then_half_of_it_each_second() {
        let (shares, now) = (Shares::new(CACHE), Instant::now());
        let share = shares.of(id(1), now);
        for _ in 0..2 {
            assert_eq!(turn(&share, CACHE, now).take(CACHE, now), Duration::ZERO);
        }
        let mut place = turn(&share, CACHE, now);
        assert_eq!(place.take(CACHE, now), Duration::from_secs(2));
        assert_eq!(place.take(CACHE, now), Duration::from_secs(4));
        // Neither recoveries nor other neighbours wait for it.
        assert_eq!(turn(&share, SMALL, now).take(SMALL, now), Duration::ZERO);
        let other = shares.of(id(2), now);
        assert_eq!(turn(&other, CACHE, now).take(CACHE, now), Duration::ZERO);
        let later = now + Duration::from_secs(8);
        assert_eq!(place.take(CACHE, later), Duration::ZERO);
    }

    #[test]
    fn large_answers_take_turns_and_few_questions_wait() {
        let (shares, now) = (Shares::new(CACHE), Instant::now());
        let share = shares.of(id(1), now);
        let places: Vec<AnswerSlot> = (0..TURNS).map(|_| turn(&share, CACHE, now)).collect();
        assert!(!share.has_turn());
        let queue = || share.queue(CACHE, now);
        let waiting: Vec<Queued> = (0..WAITING_MAX).filter_map(|_| queue()).collect();
        assert_eq!((waiting.len(), queue().is_none()), (WAITING_MAX, true));
        drop((places, waiting));
        drop(turn(&share, CACHE, now));
        // A new share evicts the ones of idle neighbours.
        drop(share);
        for number in 2..1000 {
            shares.of(id(number), now);
        }
        assert!(shares.all.lock().len() <= LOOK_AT);
    }

    /// Small queries that come faster than their answers may be sent wait without a choice of
    /// samples, and only so many do.
    #[test]
    fn small_answers_beyond_the_budget_wait_and_few_do() {
        let (shares, now) = (Shares::new(CACHE), Instant::now());
        let share = shares.of(id(1), now);
        let at_once = 2 * CACHE / SMALL;
        for _ in 0..at_once {
            drop(turn(&share, SMALL, now));
        }
        let first = share.queue(SMALL, now).expect("none waits yet");
        assert!(!first.pause().is_zero());
        let queue = || share.queue(SMALL, now);
        let waiting: Vec<Queued> = (0..10_000).filter_map(|_| queue()).collect();
        assert_eq!(waiting.len(), WAITING_MAX - 1);
        // The rejected ones were not charged.
        let second = CACHE / 2;
        let longest = Duration::from_secs_f64((WAITING_MAX * SMALL) as f64 / second as f64);
        assert_eq!(waiting.last().map(Queued::pause), Some(longest));
        drop((first, waiting));
        let later = now + longest;
        drop(turn(&share, SMALL, later + Duration::from_secs(1)));
    }
}
