// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions of discovery, and their views of each other.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zonda::config::ZenohId;
use zonda::pubsub::Subscriber;
use zonda::{Config, Session, Wait};

/// Time limit for every step, on a busy machine.
pub const LONG: Duration = Duration::from_secs(30);

pub fn open(config: Config) -> Session {
    zonda::open(config)
        .wait()
        .unwrap_or_else(|e| panic!("it does not open: {e}"))
}

/// Returns the configuration of a peer that listens on any port of loopback, and knows no node.
pub fn peer() -> Config {
    Config::peer().listen(["tcp/127.0.0.1:0"])
}

/// Returns the configuration of a router that listens on any port of loopback.
pub fn router() -> Config {
    Config::router().listen(["tcp/127.0.0.1:0"])
}

/// Disables multicast and shortens the pause between attempts.
pub fn told(config: Config) -> Config {
    config
        .with("scouting/multicast/enabled", "false")
        .with("connect/retry/period_init_ms", "50")
        .with("connect/retry/period_max_ms", "200")
}

pub fn endpoint(session: &Session) -> String {
    session.info().locators().remove(0).to_string()
}

/// Returns the ids of the neighbours.
pub fn linked(session: &Session) -> BTreeSet<ZenohId> {
    session.info().links().iter().map(|l| l.zid).collect()
}

pub fn are_linked(one: &Session, other: &Session) -> bool {
    linked(one).contains(&other.zid()) && linked(other).contains(&one.zid())
}

/// Waits until the condition holds.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < LONG, "not within {LONG:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Counts the samples of each number.
pub struct Tally {
    _subscriber: Subscriber<()>,
    numbers: Arc<Mutex<Vec<u64>>>,
    count: Arc<AtomicU64>,
}

impl Tally {
    pub fn of(session: &Session, key: &str) -> Tally {
        let numbers = Arc::<Mutex<Vec<u64>>>::default();
        let count = Arc::<AtomicU64>::default();
        let (noting, counting) = (numbers.clone(), count.clone());
        let subscriber = session
            .declare_subscriber(key)
            .callback(move |sample| {
                let payload = sample.payload().to_bytes();
                let number = payload.first_chunk().copied().map(u64::from_le_bytes);
                let number = number.expect("a number was put");
                noting.lock().expect("nobody panics with it").push(number);
                counting.fetch_add(1, Ordering::Release);
            })
            .wait()
            .expect("it is open");
        Tally {
            _subscriber: subscriber,
            numbers,
            count,
        }
    }

    /// Returns the received numbers in the order of their arrival.
    pub fn numbers(&self) -> Vec<u64> {
        self.numbers.lock().expect("nobody panics with it").clone()
    }

    /// Waits for `count` messages.
    pub fn await_count(&self, count: u64) {
        until(&format!("{count} samples"), || {
            self.count.load(Ordering::Acquire) >= count
        });
    }
}
