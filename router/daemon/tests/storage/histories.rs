// SPDX-License-Identifier: MIT OR Apache-2.0

//! Histories of clients of one storage, whose daemon is killed and started again, are those of a register for
//! each key.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use zonda::query::ConsolidationMode;
use zonda::{Session, Wait};
use zonda_testkit::Folder;
use zonda_testkit::linear::{Action, Operation, Register, Verdict, check};

#[cfg(feature = "s3")]
use super::{Buckets, storage_in_bucket};
use super::{Daemon, SOON, storage_in, write};

/// Daemons that are killed, in a short and in a long run.
const ROUNDS: usize = 4;
const LONG_ROUNDS: usize = 100;
const CLIENTS: u64 = 3;
const KEYS: u64 = 3;
/// Operations between two kills.
const OPERATIONS: usize = 60;

/// A key that always has a value, behind the others: an answer that has it is complete.
const LAST: &str = "demo/z";

#[derive(Default)]
struct Histories {
    of_keys: [Mutex<Vec<Operation>>; KEYS as usize],
    /// Operations of this round.
    done: AtomicUsize,
    values: AtomicU64,
}

fn key(number: u64) -> String {
    format!("demo/{number}")
}

struct Clock(Instant);

impl Clock {
    fn now(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap()
    }
}

impl Histories {
    fn add(&self, key: u64, operation: Operation) {
        self.of_keys[key as usize].lock().unwrap().push(operation);
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn write(&self, session: &Session, key_number: u64, value: Register, clock: &Clock) -> bool {
        let begin = clock.now();
        let text = value.map(|value| value.to_string());
        let is_answered = write(session, &key(key_number), text.as_deref());
        let end = is_answered.then(|| clock.now());
        let action = Action::Write(value);
        self.add(key_number, Operation { begin, end, action });
        is_answered
    }

    /// Publishes a value, which is not answered.
    fn publish(&self, session: &Session, key_number: u64, value: u64, clock: &Clock) -> bool {
        let begin = clock.now();
        let is_sent = session
            .put(key(key_number), value.to_string())
            .wait()
            .is_ok();
        let (end, action) = (None, Action::Write(Some(value)));
        self.add(key_number, Operation { begin, end, action });
        is_sent
    }

    /// Reads all keys with one query; the answer is left out if it is not complete.
    fn read(&self, session: &Session, clock: &Clock) -> bool {
        let begin = clock.now();
        let replies = session.get("demo/**").timeout(SOON);
        let replies = replies.consolidation(ConsolidationMode::None).wait();
        let Ok(replies) = replies else {
            return false;
        };
        let samples = replies.iter().filter_map(|reply| reply.into_result().ok());
        let found: BTreeMap<_, _> = samples
            .map(|sample| {
                let value = sample.payload().try_to_string().unwrap().parse();
                (sample.key_expr().to_string(), value.unwrap())
            })
            .collect();
        let end = Some(clock.now());
        if !found.contains_key(LAST) {
            return false;
        }
        for number in 0..KEYS {
            let action = Action::Read(found.get(&key(number)).copied());
            self.add(number, Operation { begin, end, action });
        }
        true
    }

    /// Works until the daemon is gone.
    fn work(&self, session: &Session, seed: u64, clock: &Clock) {
        let mut random = seed | 1;
        loop {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let key = random / 16 % KEYS;
            let value = self.values.fetch_add(1, Ordering::Relaxed);
            let goes_on = match random % 8 {
                0 => self.write(session, key, None, clock),
                1..3 => self.write(session, key, Some(value), clock),
                3..5 => self.publish(session, key, value, clock),
                _ => self.read(session, clock),
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Waits for so many operations.
    fn wait_for(&self, operations: usize) {
        let start = Instant::now();
        while self.done.load(Ordering::Relaxed) < operations {
            assert!(start.elapsed() < SOON, "clients are not answered");
            std::thread::sleep(Duration::from_micros(200));
        }
        self.done.store(0, Ordering::Relaxed);
    }

    fn crash(&self, begin: u64, end: u64) {
        for number in 0..KEYS {
            let (end, action) = (Some(end), Action::Crash);
            self.add(number, Operation { begin, end, action });
        }
    }

    /// Counts the answered reads and writes, and checks the histories.
    fn check(&self) -> usize {
        let mut answered = 0;
        for (number, history) in self.of_keys.iter().enumerate() {
            let history = history.lock().unwrap();
            let verdict = check(&history);
            assert_eq!(verdict, Verdict::Linear, "key {number}: {history:#?}");
            answered += history.iter().filter(|it| it.end.is_some()).count();
        }
        answered
    }
}

#[test]
fn histories_over_kills_are_those_of_registers() {
    let folder = Folder::new("histories");
    kill_often(&storage_in(&folder));
}

#[cfg(feature = "s3")]
#[test]
fn histories_over_kills_in_a_bucket_are_those_of_registers() {
    let Some(server) = Buckets::start() else {
        return;
    };
    kill_often(&storage_in_bucket(&server));
}

/// Kills daemons with this argument amid the work of clients, and checks the histories of the keys.
fn kill_often(storage: &str) {
    let rounds = match std::env::var_os("ZONDA_LONG") {
        Some(_) => LONG_ROUNDS,
        None => ROUNDS,
    };
    let (histories, clock) = (Histories::default(), Clock(Instant::now()));
    for round in 0..rounds {
        let mut daemon = Daemon::start(&["--cfg", storage]);
        let session = daemon.connect();
        assert!(round > 0 || write(&session, LAST, Some("0")));
        let histories = &histories;
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (session, clock) = (session.clone(), &clock);
                let seed = round as u64 * CLIENTS + client + 1;
                let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                scope.spawn(move || histories.work(&session, seed, clock));
            }
            histories.wait_for(OPERATIONS + 7 * (round % 5));
            let begin = clock.now();
            daemon.0.kill().unwrap();
            daemon.0.wait().unwrap();
            // Clients may wait for answers.
            session.close().wait().unwrap_or_default();
            histories.crash(begin, clock.now());
        });
    }
    let mut daemon = Daemon::start(&["--cfg", storage]);
    assert!(histories.read(&daemon.connect(), &clock));
    let answered = histories.check();
    assert!(answered > rounds * OPERATIONS / 2, "{answered} answers");
}
