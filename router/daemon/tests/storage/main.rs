// SPDX-License-Identifier: MIT OR Apache-2.0

//! Storages of the daemon, from its configuration to a kill.
#![cfg(all(unix, feature = "storage"))]

mod histories;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use zonda::qos::CongestionControl;
use zonda::query::ConsolidationMode;
use zonda::{Config, Session, Wait};
use zonda_testkit::Folder;
#[cfg(feature = "s3")]
use zonda_testkit::buckets::Buckets;

/// A limit for steps that take no time.
const SOON: Duration = Duration::from_secs(30);
/// Rounds of a daemon that is killed; `ZONDA_KILLS` sets another number.
const KILLS: usize = 5;

/// A running daemon. Dropping it kills it.
struct Daemon(Child);

impl Daemon {
    fn start(arguments: &[&str]) -> Daemon {
        let mut daemon = Command::new(env!("CARGO_BIN_EXE_zondad"));
        daemon.args(["-l", "tcp/127.0.0.1:0", "--no-multicast-scouting"]);
        daemon.args(arguments).env_remove("ZONDA_STORAGE_ROOT");
        let daemon = daemon
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Daemon(daemon.spawn().unwrap())
    }

    /// Reads its lines up to its address, and connects.
    fn connect(&mut self) -> Session {
        let out = BufReader::new(self.0.stdout.take().unwrap());
        let mut lines = out.lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.strip_prefix("listening on ")?.to_owned()));
        let Some(address) = address else {
            panic!("it ended without an address: {}", self.end().1);
        };
        let config = Config::client([address]).with("scouting/multicast/enabled", "false");
        zonda::open(config).wait().unwrap()
    }

    /// Waits until it ends; returns its exit code and its standard error.
    fn end(&mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        self.0
            .stderr
            .as_mut()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        (self.0.wait().unwrap().code(), text)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // An error means that the daemon has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the argument of a storage in a folder.
fn storage_in(folder: &Folder) -> String {
    let dir = folder.path().to_str().unwrap();
    format!(
        "plugins/storage_manager:{{storages: {{disk: {{key_expr: 'demo/**', strip_prefix: 'demo', write_queries: true, \
         volume: {{id: 'redb', dir: {dir:?}}}}}}}}}"
    )
}

/// Returns the configuration of a storage in a new bucket.
#[cfg(feature = "s3")]
fn storage_in_bucket(server: &Buckets) -> String {
    server.create("bucket");
    format!(
        "plugins/storage_manager:{{volumes: {{s3: {{url: {:?}, private: {{access_key: 'a', secret_key: 'b'}}}}}}, \
         storages: {{disk: {{key_expr: 'demo/**', strip_prefix: 'demo', write_queries: true, \
         volume: {{id: 's3', bucket: 'bucket'}}}}}}}}",
        server.url()
    )
}

/// Writes a value, or a deletion; returns true if it was acknowledged.
fn write(session: &Session, key: &str, value: Option<&str>) -> bool {
    let replies = match value {
        Some(value) => session
            .get(format!("{key}?_write=put"))
            .payload(value)
            .timeout(SOON)
            .wait(),
        None => session
            .get(format!("{key}?_write=delete"))
            .timeout(SOON)
            .wait(),
    };
    let reply = replies.ok().and_then(|replies| replies.recv().ok());
    reply.is_some_and(|reply| reply.result().is_ok())
}

fn read(session: &Session) -> BTreeMap<String, String> {
    let replies = session
        .get("demo/**")
        .consolidation(ConsolidationMode::None)
        .timeout(SOON);
    let each = replies.wait().unwrap();
    let each = each.iter().map(|reply| {
        let sample = reply.result().unwrap();
        let value = sample.payload().try_to_string().unwrap().into_owned();
        (sample.key_expr().to_string(), value)
    });
    each.collect()
}

/// Acknowledged writes, and the one write that may be there or not.
#[derive(Default)]
struct Acknowledged {
    state: BTreeMap<String, String>,
    open: Option<(String, Option<String>)>,
    count: usize,
}

/// Writes until the daemon is gone.
fn write_on(session: &Session, acknowledged: &Mutex<Acknowledged>, round: usize) {
    for number in 0.. {
        let key = format!("demo/{}", number % 37);
        let value = (number % 5 != 4).then(|| format!("{round} {number}"));
        let open = (key.clone(), value.clone());
        acknowledged.lock().unwrap().open = Some(open);
        if !write(session, &key, value.as_deref()) {
            return;
        }
        let mut acknowledged = acknowledged.lock().unwrap();
        acknowledged.open = None;
        acknowledged.count += 1;
        match value {
            Some(value) => drop(acknowledged.state.insert(key, value)),
            None => drop(acknowledged.state.remove(&key)),
        }
    }
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged() {
    let folder = Folder::new("kill");
    kill_often(&storage_in(&folder));
}

#[cfg(feature = "s3")]
#[test]
fn a_kill_loses_nothing_that_was_acknowledged_in_a_bucket() {
    let Some(server) = Buckets::start() else {
        return;
    };
    kill_often(&storage_in_bucket(&server));
}

/// Kills daemons with this argument amid their writes.
fn kill_often(storage: &str) {
    let rounds = std::env::var("ZONDA_KILLS")
        .ok()
        .and_then(|kills| kills.parse().ok());
    let acknowledged = Mutex::new(Acknowledged::default());
    for round in 0..rounds.unwrap_or(KILLS) {
        let mut daemon = Daemon::start(&["--cfg", storage]);
        let session = daemon.connect();
        let found = read(&session);
        let mut expected = acknowledged.lock().unwrap();
        if let Some((key, value)) = expected.open.take()
            && found.get(&key) != expected.state.get(&key)
        {
            assert_eq!(found.get(&key), value.as_ref(), "{key} has neither value");
            match value {
                Some(value) => drop(expected.state.insert(key, value)),
                None => drop(expected.state.remove(&key)),
            }
        }
        assert_eq!(found, expected.state, "round {round}");
        expected.count = 0;
        drop(expected);
        std::thread::scope(|scope| {
            scope.spawn(|| write_on(&session, &acknowledged, round));
            let start = Instant::now();
            while acknowledged.lock().unwrap().count < 10 + 13 * (round % 7) {
                assert!(start.elapsed() < SOON, "writes are not acknowledged");
                std::thread::yield_now();
            }
            daemon.0.kill().unwrap();
            daemon.0.wait().unwrap();
            // The writer may wait for its answer.
            session.close().wait().unwrap_or_default();
        });
    }
}

#[test]
fn a_kill_amid_an_acknowledged_deletion_of_many_keys_brings_none_back() {
    let folder = Folder::new("many");
    let mut daemon = Daemon::start(&["--cfg", &storage_in(&folder)]);
    let session = daemon.connect();
    let keys = 5000;
    for key in 0..keys {
        let put = session.put(format!("demo/many/{key}"), "value");
        let put = put.congestion_control(CongestionControl::Block);
        put.wait().unwrap();
    }
    session.put("demo/other", "kept").wait().unwrap();
    assert_eq!(read(&session).len(), keys + 1);
    assert!(write(&session, "demo/many/**", None));
    // The storage has not reached all keys yet, if the kill is quick.
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    session.close().wait().unwrap_or_default();
    let mut daemon = Daemon::start(&["--cfg", &storage_in(&folder)]);
    let session = daemon.connect();
    assert_eq!(
        read(&session).into_keys().collect::<Vec<_>>(),
        ["demo/other"]
    );
    // A key that is put since then stays.
    assert!(write(&session, "demo/many/7", Some("new")));
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        assert_eq!(read(&session).len(), 2);
    }
}

#[test]
fn a_wrong_configuration_is_one_line() {
    let folder = Folder::new("wrong");
    for (argument, words) in [
        (
            "plugins/storage_manager/storages/disk/replication:{hot:0}",
            "expected a whole number",
        ),
        (
            "plugins/storage_manager/storages/disk/volume:'influxdb'",
            "expected one of memory",
        ),
        ("timestamping/enabled:false", "set it to true"),
    ] {
        let storage = storage_in(&folder);
        for check in [&["--check-config"][..], &[]] {
            let arguments = [&["--cfg", &storage, "--cfg", argument], check].concat();
            let mut daemon = Daemon::start(&arguments);
            let mut text = String::new();
            daemon
                .0
                .stdout
                .as_mut()
                .unwrap()
                .read_to_string(&mut text)
                .unwrap();
            let (code, errors) = daemon.end();
            let text = text + &errors;
            assert_eq!(code, Some(2), "{text}");
            assert!(text.contains(words) && text.lines().count() == 1, "{text}");
        }
    }
}

#[test]
fn a_second_daemon_on_one_folder_is_refused() {
    let folder = Folder::new("second");
    let mut first = Daemon::start(&["--cfg", &storage_in(&folder)]);
    let _session = first.connect();
    let (code, errors) = Daemon::start(&["--cfg", &storage_in(&folder)]).end();
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("in use") && errors.contains("storage disk"),
        "{errors}"
    );
    // One that may do without its storages runs on.
    let optional = "plugins/storage_manager/__required__:false";
    let mut third = Daemon::start(&["--cfg", &storage_in(&folder), "--cfg", optional]);
    assert_eq!(read(&third.connect()), BTreeMap::new());
}
