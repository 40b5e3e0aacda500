// SPDX-License-Identifier: MIT OR Apache-2.0

//! Replicas: storages with the same settings on several routers, which missed updates of each other.

use std::time::{Duration, Instant};

use zonda::query::ConsolidationMode;
use zonda::{Config, Session, Wait};
use zonda_storage::Storages;

const SOON: Duration = Duration::from_secs(30);

const REPLICA: &str = r#"{"storages": {"mem": {"key_expr": "demo/**", "strip_prefix": "demo", "volume": "memory",
    "replication": {"interval": 0.6, "propagation_delay": 50, "hot": 3, "warm": 3}}}}"#;

/// Opens a router with links to these.
fn router(to: &[&Session]) -> Session {
    let to = to.iter().map(|to| to.info().locators().remove(0));
    let config = Config::router().listen(["tcp/127.0.0.1:0"]).connect(to);
    let config = config.with("scouting/multicast/enabled", "false");
    zonda::open(config).wait().unwrap()
}

/// Returns what the storage of a router has.
fn contents(router: &Session) -> Vec<String> {
    let get = router.get("demo/**");
    let get = get.consolidation(ConsolidationMode::None);
    let get = get.allowed_destination(zonda::sample::Locality::SessionLocal);
    let replies = get.timeout(SOON).wait().unwrap();
    let each = replies.iter().map(|reply| {
        let sample = reply.into_result().expect("a value");
        let value = sample.payload().try_to_string().unwrap().into_owned();
        format!("{}={value}", sample.key_expr())
    });
    let mut each: Vec<_> = each.collect();
    each.sort();
    each
}

#[track_caller]
fn until_all_have(routers: &[&Session], expected: &[&str]) {
    let start = Instant::now();
    while !routers.iter().all(|router| contents(router) == expected) {
        let found: Vec<_> = routers.iter().map(|router| contents(router)).collect();
        assert!(start.elapsed() < SOON, "{found:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn put(at: &Session, key: &str, value: &str) {
    at.put(key, value).wait().unwrap();
}

#[test]
fn replicas_that_were_apart_come_to_have_the_same() {
    // Two routers without a link.
    let (first, second) = (router(&[]), router(&[]));
    let one = Storages::start(&first, REPLICA).unwrap();
    let two = Storages::start(&second, REPLICA).unwrap();
    for (number, at) in [&first, &second].into_iter().enumerate() {
        for key in 0..300 {
            put(at, &format!("demo/{number}/{key}"), "old");
        }
        put(at, "demo/both", &format!("of {number}"));
    }
    first.delete("demo/0/*").wait().unwrap();
    put(&first, "demo/0/7", "new");
    put(&second, "demo/1/**", "all");
    second.delete("demo/1/5").wait().unwrap();
    put(&second, "demo/1/6", "own");
    // A third router links them.
    let third = router(&[&first, &second]);
    let mut expected = vec!["demo/0/7=new".to_owned(), "demo/1/6=own".to_owned()];
    let untouched = (0..300).filter(|key| ![5, 6].contains(key));
    expected.extend(untouched.map(|key| format!("demo/1/{key}=all")));
    expected.push("demo/both=of 1".to_owned());
    expected.sort();
    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
    until_all_have(&[&first, &second], &expected);
    // An empty replica gets all of it.
    let three = Storages::start(&third, REPLICA).unwrap();
    until_all_have(&[&first, &second, &third], &expected);
    drop((one, two, three));
}

#[test]
fn a_storage_that_becomes_a_replica_keeps_its_values_and_aligns() {
    let first = router(&[]);
    let alone = REPLICA.replace("\"replication\"", "\"history\": {}, \"replication\"");
    let alone = alone.replace(
        "\"replication\": {\"interval\": 0.6, \"propagation_delay\": 50, \"hot\": 3, \"warm\": 3}",
        "\"replication\": null",
    );
    let one = Storages::start(&first, &alone).unwrap();
    put(&first, "demo/a", "1");
    let second = router(&[&first]);
    let two = Storages::start(&second, REPLICA).unwrap();
    until_all_have(&[&first], &["demo/a=1"]);
    until_all_have(&[&second], &[]);
    // It indexes what it has, and returns its store whole when it is none any more.
    one.change(REPLICA).unwrap();
    until_all_have(&[&first, &second], &["demo/a=1"]);
    one.change(&alone).unwrap();
    until_all_have(&[&first, &second], &["demo/a=1"]);
    drop((one, two));
}
