// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a cache gives to each neighbour that asks it, by itself or for nodes behind it.
//!
//! A question of some bytes may have all that the cache holds for an answer. A neighbour gets that twice at once, and from then on
//! half of it each second; answers that are larger than a few samples take turns. What comes later is late, and not lost:
//! the rest of an answer is sent as long as its question is open.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use event_listener::Event;
use parking_lot::Mutex;
use zonda_codec::ZenohId;

/// Answers of up to so many bytes need not wait for their turn, and have a budget of their own: recoveries are small.
const SMALL: usize = 256 << 10;

/// How many larger answers go to one neighbour at the same time.
const TURNS: usize = 8;

/// How many questions of one neighbour may wait. Of more the oldest stay.
const WAITING_MAX: usize = 1024;

/// The least that a neighbour gets at once, whatever the cache holds.
const BURST_MIN: usize = 16 << 20;

/// How many neighbours there are when those are looked for that take nothing.
const LOOK_AT: usize = 64;

/// Bytes that may go out now, and how many more each second. Below zero they are lent.
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

    /// Takes so many; how long to wait until they may go out.
    fn take(&mut self, bytes: usize, now: Instant) -> Duration {
        let each_second = self.full / 4.0;
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * each_second).min(self.full) - bytes as f64;
        self.at = now;
        Duration::from_secs_f64((-self.left).max(0.0) / each_second)
    }
}

/// What one neighbour has and takes.
#[derive(Debug)]
struct State {
    small: Budget,
    large: Budget,
    answering: usize,
    waiting: usize,
}

/// The share of one neighbour.
#[derive(Debug)]
pub(super) struct Share {
    state: Mutex<State>,
    /// Notified when an answer has ended.
    ended: Event,
}

/// The shares of all neighbours.
#[derive(Debug)]
pub(super) struct Shares {
    burst: usize,
    all: Mutex<HashMap<ZenohId, Arc<Share>>>,
}

/// The place of an answer among those of its neighbour.
pub(super) struct Place {
    share: Arc<Share>,
    is_small: bool,
}

/// The place of a question among those that wait.
pub(super) struct Queued(Arc<Share>);

impl Shares {
    /// Those of a cache of at most so many bytes.
    pub fn new(max_bytes: usize) -> Shares {
        Shares {
            burst: max_bytes.saturating_mul(2).max(BURST_MIN),
            all: Mutex::default(),
        }
    }

    /// The share of this neighbour.
    pub fn of(&self, neighbour: ZenohId, now: Instant) -> Arc<Share> {
        let mut all = self.all.lock();
        if all.len() >= LOOK_AT && !all.contains_key(&neighbour) {
            all.retain(|_, share| Arc::strong_count(share) > 1 || !share.is_whole(now));
        }
        let share = all.entry(neighbour).or_insert_with(|| {
            let full = self.burst as f64;
            Arc::new(Share {
                state: Mutex::new(State {
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
    /// Whether it is as if nothing had been taken.
    fn is_whole(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        state.small.take(0, now);
        state.large.take(0, now);
        let is_full = |budget: &Budget| budget.left >= budget.full;
        is_full(&state.small) && is_full(&state.large)
    }

    /// A question waits; `None` if too many do.
    pub fn queue(self: &Arc<Self>) -> Option<Queued> {
        let mut state = self.state.lock();
        if state.waiting >= WAITING_MAX {
            return None;
        }
        state.waiting += 1;
        Some(Queued(Arc::clone(self)))
    }

    fn has_turn(&self) -> bool {
        let mut state = self.state.lock();
        let has_turn = state.answering < TURNS;
        state.answering += usize::from(has_turn);
        has_turn
    }
}

impl Queued {
    /// Waits for the turn of an answer of so many bytes.
    pub async fn turn(self, bytes: usize) -> Place {
        let share = Arc::clone(&self.0);
        let is_small = bytes <= SMALL;
        while !is_small && !share.has_turn() {
            let ended = share.ended.listen();
            if share.has_turn() {
                break;
            }
            ended.await;
        }
        Place { share, is_small }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.0.state.lock().waiting -= 1;
    }
}

impl Place {
    /// How long to wait before so many bytes go out.
    pub fn take(&self, bytes: usize, now: Instant) -> Duration {
        let mut state = self.share.state.lock();
        match self.is_small {
            true => state.small.take(bytes, now),
            false => state.large.take(bytes, now),
        }
    }
}

impl Drop for Place {
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

    fn turn(share: &Arc<Share>, bytes: usize) -> Place {
        block_on(share.queue().expect("few wait").turn(bytes))
    }

    #[test]
    fn a_neighbour_gets_all_there_is_twice_at_once_and_then_half_of_it_each_second() {
        let (shares, now) = (Shares::new(CACHE), Instant::now());
        let share = shares.of(id(1), now);
        for _ in 0..2 {
            assert_eq!(turn(&share, CACHE).take(CACHE, now), Duration::ZERO);
        }
        let place = turn(&share, CACHE);
        assert_eq!(place.take(CACHE, now), Duration::from_secs(2));
        assert_eq!(place.take(CACHE, now), Duration::from_secs(4));
        // Neither recoveries nor others wait for it.
        assert_eq!(turn(&share, SMALL).take(SMALL, now), Duration::ZERO);
        let other = shares.of(id(2), now);
        assert_eq!(turn(&other, CACHE).take(CACHE, now), Duration::ZERO);
        let later = now + Duration::from_secs(8);
        assert_eq!(place.take(CACHE, later), Duration::ZERO);
    }

    #[test]
    fn large_answers_take_turns_and_few_questions_wait() {
        let (shares, now) = (Shares::new(CACHE), Instant::now());
        let share = shares.of(id(1), now);
        let places: Vec<Place> = (0..TURNS).map(|_| turn(&share, CACHE)).collect();
        assert!(!share.has_turn());
        let waiting: Vec<Queued> = (0..WAITING_MAX).filter_map(|_| share.queue()).collect();
        assert_eq!(
            (waiting.len(), share.queue().is_none()),
            (WAITING_MAX, true)
        );
        drop((places, waiting));
        drop(turn(&share, CACHE));
        // Those that take nothing are forgotten.
        drop(share);
        for number in 2..1000 {
            shares.of(id(number), now);
        }
        assert!(shares.all.lock().len() <= LOOK_AT);
    }
}
