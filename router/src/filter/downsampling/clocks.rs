// SPDX-License-Identifier: MIT OR Apache-2.0

//! Clocks of rates, by neighbour, direction, rule and key. They outlive bound filters, so that
//! neither a new link nor a full cache lets a message pass too early.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use zonda_codec::ZenohId;

use crate::config::Flow;

/// Number of neighbours below which clocks of former ones are kept without a look.
const NEIGHBOURS_MIN: usize = 64;

/// Most neighbours with clocks, apart from those with bound filters.
const NEIGHBOURS_MAX: usize = 256;

/// Most bytes of keys with clocks of one neighbour and direction, each with [`OVERHEAD`].
const KEY_BYTES_MAX: usize = 128 * 1024;

/// Bytes that a key is charged in addition to its text.
const OVERHEAD: usize = 128;

/// Nanoseconds between two searches for keys whose clocks are no longer needed.
const SEARCH_INTERVAL: u64 = 1_000_000_000;

/// The least time between two messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interval {
    /// Nanoseconds.
    Nanos(u64),
    /// No message passes.
    Endless,
}

impl Interval {
    /// Returns the interval of a frequency in messages per second.
    pub(super) fn of(freq: f64) -> Interval {
        match freq == 0.0 {
            true => Interval::Endless,
            // a value that is too large becomes the largest
            false => Interval::Nanos((1e9 / freq) as u64),
        }
    }
}

/// The time from which the next message may pass, in nanoseconds; 0 before the first one.
///
/// Several threads may ask at once. The time is the only state, and of the threads that have read
/// one value only one replaces it, so that one message passes per interval.
#[derive(Debug, Default)]
pub(super) struct Clock(AtomicU64);

impl Clock {
    /// Returns true if a message passes at `now`; the next one passes an interval later.
    pub(super) fn passes(&self, now: u64, interval: Interval) -> bool {
        let Interval::Nanos(interval) = interval else {
            return false;
        };
        let after = |next: u64| (next <= now).then(|| now.saturating_add(interval));
        let result = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, after);
        result.is_ok()
    }

    /// Returns true if a new clock would decide alike.
    fn is_idle(&self, now: u64) -> bool {
        self.0.load(Ordering::Relaxed) <= now
    }
}

/// The clocks of a node.
#[derive(Debug, Default)]
pub(super) struct Clocks(Mutex<HashMap<(ZenohId, bool), Arc<OfNeighbour>, RandomState>>);

impl Clocks {
    /// Returns the clocks of a neighbour and direction, for `rules` rules.
    pub(super) fn of(&self, zid: ZenohId, flow: Flow, rules: usize, now: u64) -> Arc<OfNeighbour> {
        let mut all = self.0.lock();
        let place = (zid, flow == Flow::Ingress);
        if let Some(known) = all.get(&place) {
            return Arc::clone(known);
        }
        // each search leaves room for as many new ones, so that its cost is spread
        if all.len() >= NEIGHBOURS_MIN && all.len() == all.capacity() {
            all.retain(|_, one| Arc::strong_count(one) > 1 || !one.is_idle(now));
            if all.len() >= NEIGHBOURS_MAX {
                all.retain(|_, one| Arc::strong_count(one) > 1);
            }
        }
        let new = Arc::new(OfNeighbour::new(rules));
        all.insert(place, Arc::clone(&new));
        new
    }
}

/// The clocks of one neighbour and direction.
#[derive(Debug)]
pub(super) struct OfNeighbour {
    /// Clocks that all keys of a rule share, by the number of the rule.
    rules: Box<[Arc<Clock>]>,
    keys: Mutex<Keys>,
}

impl OfNeighbour {
    fn new(rules: usize) -> OfNeighbour {
        OfNeighbour {
            rules: (0..rules).map(|_| Arc::default()).collect(),
            keys: Mutex::default(),
        }
    }

    /// Returns the clock of a rule; `None` if there is no such rule.
    pub(super) fn of_rule(&self, rule: usize) -> Option<Arc<Clock>> {
        self.rules.get(rule).cloned()
    }

    /// Returns the clock of a key under a rule. Keys for which there is no room share that of the
    /// rule, so that they pass less often than they may, not more often.
    pub(super) fn of_key(&self, rule: usize, key: &str, now: u64) -> Option<Arc<Clock>> {
        let own = self.keys.lock().of(rule, key, now);
        own.or_else(|| self.of_rule(rule))
    }

    fn is_idle(&self, now: u64) -> bool {
        let are_idle = self.rules.iter().all(|clock| clock.is_idle(now));
        are_idle && self.keys.lock().are_idle(now)
    }
}

/// Clocks by rule and key.
#[derive(Debug, Default)]
struct Keys {
    of_rules: HashMap<usize, HashMap<Box<str>, Arc<Clock>, RandomState>>,
    bytes: usize,
    /// Time of the next search for clocks that are no longer needed.
    next_search: u64,
}

impl Keys {
    fn of(&mut self, rule: usize, key: &str, now: u64) -> Option<Arc<Clock>> {
        let known = self.of_rules.get(&rule).and_then(|keys| keys.get(key));
        if let Some(known) = known {
            return Some(Arc::clone(known));
        }
        let cost = key.len() + OVERHEAD;
        if self.bytes + cost > KEY_BYTES_MAX && self.next_search <= now {
            self.next_search = now.saturating_add(SEARCH_INTERVAL);
            self.drop_idle(now);
        }
        if self.bytes + cost > KEY_BYTES_MAX {
            return None;
        }
        self.bytes += cost;
        let new = Arc::default();
        let keys = self.of_rules.entry(rule).or_default();
        keys.insert(key.into(), Arc::clone(&new));
        Some(new)
    }

    /// Drops the clocks that no bound filter has and that would decide as new ones.
    fn drop_idle(&mut self, now: u64) {
        for keys in self.of_rules.values_mut() {
            keys.retain(|_, clock| Arc::strong_count(clock) > 1 || !clock.is_idle(now));
        }
        let kept = self.of_rules.values().flat_map(HashMap::keys);
        self.bytes = kept.map(|key| key.len() + OVERHEAD).sum();
    }

    fn are_idle(&self, now: u64) -> bool {
        let mut clocks = self.of_rules.values().flat_map(HashMap::values);
        clocks.all(|clock| clock.is_idle(now))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    const SECOND: Interval = Interval::Nanos(1_000_000_000);

    #[test]
    fn frequencies_become_intervals() {
        for (freq, interval) in [
            (10.0, Interval::Nanos(100_000_000)),
            (0.0, Interval::Endless),
            (-0.0, Interval::Endless),
            (0.5, Interval::Nanos(2_000_000_000)),
            (1e12, Interval::Nanos(0)),
            (1e-300, Interval::Nanos(u64::MAX)),
        ] {
            assert_eq!(Interval::of(freq), interval, "{freq}");
        }
    }

    #[test]
    fn a_clock_counts_from_the_last_message_that_passed() {
        let clock = Clock::default();
        let ms = 1_000_000;
        let at = [0, 1, 999, 1000, 1500, 1999, 2500, 3000, 3500];
        let passed = at.map(|at| clock.passes(at * ms, SECOND));
        assert_eq!(
            passed,
            [true, false, false, true, false, false, true, false, true]
        );
        assert!(!clock.passes(u64::MAX, Interval::Endless));
        assert!(clock.passes(u64::MAX, Interval::Nanos(u64::MAX)));
    }

    #[test]
    fn of_threads_that_ask_at_once_one_passes_per_interval() {
        let (clock, passed) = (Clock::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for now in 0..100_000 {
                        if clock.passes(now, Interval::Nanos(100)) {
                            passed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let passed = passed.into_inner();
        assert!((1..=1000).contains(&passed), "{passed}");
    }

    fn zid(number: usize) -> ZenohId {
        format!("{:x}", number + 1).parse().expect("an id")
    }

    #[test]
    fn a_clock_outlives_its_users_until_a_new_one_would_decide_alike() {
        let clocks = Clocks::default();
        let of = |number: usize, now| {
            let of = clocks.of(zid(number), Flow::Egress, 1, now);
            of.of_rule(0).expect("there is a rule")
        };
        assert!(of(0, 0).passes(0, SECOND));
        // strangers come and go
        for number in 1..NEIGHBOURS_MAX {
            of(number, 1);
        }
        assert!(!of(0, 2).passes(2, SECOND));
        assert!(clocks.0.lock().len() < 10 * NEIGHBOURS_MIN);
    }

    #[test]
    fn neighbours_are_bounded_even_if_all_of_their_clocks_run() {
        let clocks = Clocks::default();
        for number in 0..10 * NEIGHBOURS_MAX {
            let of = clocks.of(zid(number), Flow::Ingress, 1, 0);
            let clock = of.of_rule(0).expect("there is a rule");
            assert!(clock.passes(0, Interval::Nanos(u64::MAX)));
        }
        assert!(clocks.0.lock().len() <= 4 * NEIGHBOURS_MAX);
    }

    #[test]
    fn keys_without_room_share_the_clock_of_their_rule() {
        let of = OfNeighbour::new(1);
        let now = 10_000_000_000;
        let passes = |key: &str, now| {
            let clock = of.of_key(0, key, now).expect("there is a rule");
            clock.passes(now, SECOND)
        };
        let passed = (0..20_000).filter(|key| passes(&key.to_string(), now));
        let passed = passed.count();
        assert!((500..1_500).contains(&passed), "{passed}");
        assert!(of.keys.lock().bytes <= KEY_BYTES_MAX);
        assert!(!passes("0", now), "it has a clock of its own");
        // once they run no more, there is room again
        let later = now + 2 * SEARCH_INTERVAL;
        assert!(passes("x", later) && passes("y", later));
        assert!(of.keys.lock().bytes < KEY_BYTES_MAX / 100);
    }
}
