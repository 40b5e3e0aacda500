// SPDX-License-Identifier: MIT OR Apache-2.0

//! Storages whose volume is slow, or fails.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};
use zonda_storage::Storages;
use zonda_storage::volume::{
    Durability, Entry, Memory, OpenError, Options, Store, StoreError, Table, Volume,
};

/// A limit for steps that take no time.
const SOON: Duration = Duration::from_secs(20);

/// Number of jobs that wait for a storage at most.
const QUEUE: usize = 4096;

/// Behaviour of a volume in the next operations.
#[derive(Default)]
struct Mood {
    /// Changes wait while it is set.
    is_stuck: bool,
    fails_to_change: bool,
    fails_to_read: bool,
    fails_to_commit: bool,
    panics: bool,
    /// Changes so far, and as of the last entry that was read by its name.
    changes: usize,
    changes_before_get: usize,
}

/// A volume in memory whose operations go as the test wants.
#[derive(Clone, Default)]
struct Moody(Arc<(Mutex<Mood>, Condvar)>);

impl Moody {
    fn set(&self, change: impl FnOnce(&mut Mood)) {
        change(&mut self.0.0.lock().unwrap());
        self.0.1.notify_all();
    }

    fn fails(&self, which: impl Fn(&Mood) -> bool) -> Result<(), StoreError> {
        let mood = self.0.0.lock().unwrap();
        let mood = self.0.1.wait_while(mood, |mood| mood.is_stuck).unwrap();
        let (panics, fails) = (mood.panics, which(&mood));
        drop(mood);
        assert!(!panics, "a fault of the volume");
        match fails {
            true => Err(StoreError::Failed("the disk is on fire".to_owned())),
            false => Ok(()),
        }
    }
}

impl Volume for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }

    fn check(&self, options: &Options) -> Result<(), OpenError> {
        options.allow(&[])
    }

    fn open(&self, options: &Options) -> Result<Box<dyn Store>, OpenError> {
        let store = Memory.open(options)?;
        Ok(Box::new(MoodyStore(store, self.clone())))
    }
}

struct MoodyStore(Box<dyn Store>, Moody);

impl Store for MoodyStore {
    fn durability(&self) -> Option<Durability> {
        Some(Durability::Batch)
    }

    fn get(&mut self, table: Table, name: &str) -> Result<Option<Entry>, StoreError> {
        self.1.fails(|mood| mood.fails_to_read)?;
        self.1.set(|mood| mood.changes_before_get = mood.changes);
        self.0.get(table, name)
    }

    fn scan(
        &mut self,
        table: Table,
        from: &str,
        visit: &mut dyn FnMut(&str, Entry) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.0.scan(table, from, visit)?;
        self.1.fails(|mood| mood.fails_to_read)
    }

    fn put(&mut self, table: Table, name: &str, entry: Entry) -> Result<(), StoreError> {
        self.1.fails(|mood| mood.fails_to_change)?;
        self.1.set(|mood| mood.changes += 1);
        self.0.put(table, name, entry)
    }

    fn remove(&mut self, table: Table, name: &str) -> Result<(), StoreError> {
        self.1.fails(|mood| mood.fails_to_change)?;
        self.0.remove(table, name)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.1.fails(|mood| mood.fails_to_commit)
    }

    fn uncommitted_bytes(&self) -> usize {
        0
    }

    fn len(&mut self, table: Table) -> Result<u64, StoreError> {
        self.0.len(table)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.0.close()
    }
}

struct Scene {
    storages: Storages,
    session: Session,
    mood: Moody,
}

fn scene() -> Scene {
    let config = Config::router().listen(["tcp/127.0.0.1:0"]);
    let config = config.with("scouting/multicast/enabled", "false");
    let session = zonda::open(config).wait().unwrap();
    let mood = Moody::default();
    let json =
        r#"{"storages": {"s": {"key_expr": "demo/**", "volume": "moody", "write_queries": true}}}"#;
    let storages =
        Storages::start_with(&session, json, &[Box::leak(Box::new(mood.clone()))]).unwrap();
    Scene {
        storages,
        session,
        mood,
    }
}

impl Scene {
    fn put(&self, key: &str) {
        let put = self.session.put(key, "1");
        put.congestion_control(CongestionControl::Block)
            .wait()
            .unwrap();
    }

    fn ask(&self, selector: &str) -> Vec<String> {
        let replies = self.session.get(selector).timeout(SOON).wait().unwrap();
        let each = replies.iter().map(|reply| match reply.result() {
            Ok(sample) => sample.key_expr().to_string(),
            Err(error) => error.payload().try_to_string().unwrap().into_owned(),
        });
        let mut each: Vec<_> = each.collect();
        each.sort();
        each
    }

    fn metric(&self, name: &str) -> u64 {
        let metrics = self.storages.counters().samples();
        let found = metrics.iter().find(|sample| sample.metric().name == name);
        found.unwrap_or_else(|| panic!("no {name}")).value()
    }

    #[track_caller]
    fn until(&self, name: &str, value: u64) {
        let start = Instant::now();
        while self.metric(name) != value {
            let is = self.metric(name);
            assert!(start.elapsed() < SOON, "{name} is {is}, not {value}");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_failure_is_an_error_reply_and_a_count() {
    let scene = scene();
    scene.put("demo/a");
    assert_eq!(scene.ask("demo/a"), ["demo/a"]);
    // An update that cannot be stored is not there.
    scene.mood.set(|mood| mood.fails_to_change = true);
    scene.put("demo/b");
    scene.until("zonda_storage_failures", 1);
    let written = scene
        .session
        .get("demo/c?_write=put")
        .payload("1")
        .wait()
        .unwrap();
    let reply = written.recv().unwrap();
    let error = reply
        .result()
        .unwrap_err()
        .payload()
        .try_to_string()
        .unwrap()
        .into_owned();
    assert_eq!(error, "storage s: the disk is on fire");
    scene.mood.set(|mood| mood.fails_to_change = false);
    assert_eq!(scene.ask("demo/*"), ["demo/a"]);
    // An entry that cannot be read gives an error reply, also after a part of the answer.
    scene.mood.set(|mood| mood.fails_to_read = true);
    assert_eq!(scene.ask("demo/a"), ["storage s: the disk is on fire"]);
    assert_eq!(
        scene.ask("demo/*"),
        ["demo/a", "storage s: the disk is on fire"]
    );
    scene.until("zonda_storage_failures", 4);
    // An update whose key cannot be read is not taken for a new one.
    scene.session.delete("demo/a").wait().unwrap();
    scene.until("zonda_storage_failures", 5);
    scene.mood.set(|mood| mood.fails_to_read = false);
    assert_eq!(scene.ask("demo/a"), ["demo/a"]);
}

#[test]
fn a_write_whose_commit_fails_is_refused() {
    let scene = scene();
    scene.mood.set(|mood| mood.fails_to_commit = true);
    let write = || {
        let replies = scene
            .session
            .get("demo/a?_write=put")
            .payload("1")
            .wait()
            .unwrap();
        let reply = replies.recv().unwrap();
        reply
            .result()
            .map(|_| ())
            .map_err(|error| error.payload().try_to_string().unwrap().into_owned())
    };
    assert_eq!(write(), Err("storage s: the disk is on fire".to_owned()));
    scene.mood.set(|mood| mood.fails_to_commit = false);
    assert_eq!(write(), Ok(()));
}

#[test]
fn a_full_queue_makes_block_wait_and_counts_what_is_dropped() {
    let scene = scene();
    scene.mood.set(|mood| mood.is_stuck = true);
    // The thread of the storage takes what is there, and is stuck with it; then the queue fills.
    scene.put("demo/first");
    let drop_put = |number: usize| {
        let put = scene.session.put(format!("demo/{number}"), "1");
        put.congestion_control(CongestionControl::Drop)
            .wait()
            .unwrap();
    };
    let mut sent = 0;
    while scene.metric("zonda_storage_dropped") == 0 {
        drop_put(sent);
        sent += 1;
        assert!(sent <= 2 * QUEUE + 2, "nothing is dropped");
    }
    drop_put(sent);
    sent += 1;
    let dropped = scene.metric("zonda_storage_dropped") as usize;
    assert!(
        dropped >= 2 && sent - dropped >= QUEUE,
        "{dropped} of {sent}"
    );
    // A query gets an error reply, and a publisher with `Block` waits.
    let refused = scene.ask("demo/first");
    assert_eq!(refused, ["the storage has too much to do; ask again later"]);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| scene.put("demo/last"));
        let deadline = Instant::now() + Duration::from_millis(100);
        while Instant::now() < deadline {
            assert!(!waiting.is_finished(), "it does not wait");
            std::thread::yield_now();
        }
        scene.mood.set(|mood| mood.is_stuck = false);
        waiting.join().unwrap();
    });
    assert_eq!(scene.ask("demo/last"), ["demo/last"]);
    let dropped = scene.metric("zonda_storage_dropped") as usize;
    scene.until("zonda_storage_puts", (sent + 2 - (dropped - 1)) as u64);
}

#[test]
fn a_volume_that_panics_ends_its_storage_alone() {
    let scene = scene();
    scene.put("demo/a");
    scene.mood.set(|mood| mood.panics = true);
    assert_eq!(scene.ask("demo/a"), ["the storage has stopped"]);
    let start = Instant::now();
    while scene.ask("demo/a") != ["the storage has stopped"] {
        assert!(start.elapsed() < SOON);
    }
    scene.put("demo/b");
    scene.session.put("other", "1").wait().unwrap();
}

#[test]
fn an_update_of_many_keys_lets_queries_in_between_and_survives_failures() {
    let scene = scene();
    let keys = 20_000;
    for key in 0..keys {
        scene.put(&format!("demo/{key:05}"));
    }
    scene.until("zonda_storage_puts", keys);
    // The storage is stuck in the update until the query waits behind it.
    scene.mood.set(|mood| mood.is_stuck = true);
    scene.session.delete("demo/**").wait().unwrap();
    let replies = scene
        .session
        .get("demo/19999")
        .timeout(SOON)
        .wait()
        .unwrap();
    let before = scene.mood.0.0.lock().unwrap().changes;
    scene.mood.set(|mood| mood.is_stuck = false);
    assert_eq!(
        replies.iter().count(),
        0,
        "the key is deleted for it already"
    );
    let seen = scene.mood.0.0.lock().unwrap().changes_before_get - before;
    assert!(seen < 4096, "{seen} keys were changed before the answer");
    // A step that fails is tried again.
    scene.mood.set(|mood| mood.fails_to_change = true);
    let start = Instant::now();
    while scene.metric("zonda_storage_failures") == 0 && scene.metric("zonda_storage_keys") > 0 {
        assert!(start.elapsed() < SOON, "no step fails");
        std::thread::yield_now();
    }
    assert_eq!(scene.ask("demo/*"), [""; 0]);
    scene.mood.set(|mood| mood.fails_to_change = false);
    scene.until("zonda_storage_keys", 0);
    assert_eq!(scene.metric("zonda_storage_tombstones"), keys);
}
