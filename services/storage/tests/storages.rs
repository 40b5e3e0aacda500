// SPDX-License-Identifier: MIT OR Apache-2.0

//! Storages as sessions see them: a session of another node puts and asks, through a router whose
//! session has the storages.

use std::time::{Duration, Instant};

use zonda::query::ConsolidationMode;
use zonda::sample::Sample;
use zonda::{Config, Session, Wait};
use zonda_storage::Storages;
use zonda_testkit::Folder;

/// A limit for steps that take no time.
const SOON: Duration = Duration::from_secs(20);

/// A router with storages, and a client of it.
struct Scene {
    storages: Option<Storages>,
    router: Session,
    client: Session,
}

impl Scene {
    fn new(json: &str) -> Scene {
        let router = open(Config::router().listen(["tcp/127.0.0.1:0"]));
        let mut storages = Storages::start(&router, json).unwrap();
        storages.answer_status().unwrap();
        let address = router.info().locators().remove(0);
        let client = open(Config::client([address]));
        let storages = Some(storages);
        Scene {
            storages,
            router,
            client,
        }
    }

    fn put(&self, key: &str, value: &str) {
        self.client
            .put(key, value)
            .encoding("text/plain")
            .wait()
            .unwrap();
    }

    /// Returns the keys and values that a selector finds, in order, and the errors.
    fn get(&self, selector: &str) -> Vec<String> {
        let replies = self
            .client
            .get(selector)
            .consolidation(ConsolidationMode::None);
        let replies = replies.timeout(SOON).wait().unwrap();
        let each = replies.iter().map(|reply| match reply.result() {
            Ok(sample) => text(sample),
            Err(error) => format!("error: {}", error.payload().try_to_string().unwrap()),
        });
        let mut each: Vec<_> = each.collect();
        each.sort();
        each
    }

    /// Returns the value of a counter, or the sum of those of all storages.
    fn metric(&self, name: &str) -> u64 {
        let metrics = self.storages.as_ref().unwrap().counters().samples();
        let found = metrics.iter().filter(|sample| sample.metric().name == name);
        found.map(|sample| sample.value()).sum()
    }
}

fn text(sample: &Sample) -> String {
    format!(
        "{}={}",
        sample.key_expr(),
        sample.payload().try_to_string().unwrap()
    )
}

fn open(config: Config) -> Session {
    let config = config.with("scouting/multicast/enabled", "false");
    zonda::open(config).wait().unwrap()
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < SOON, "never: {what}");
        std::thread::yield_now();
    }
}

/// Returns the configuration of a storage in a folder.
fn redb(folder: &Folder, more: &str) -> String {
    let dir = folder.path().to_str().unwrap();
    format!(
        r#"{{"storages": {{"disk": {{"key_expr": "demo/**", "strip_prefix": "demo", "complete": true, "write_queries": true,
             "volume": {{"id": "redb", "dir": {dir:?} {more}}}}}}}}}"#
    )
}

const MEMORY: &str = r#"{"storages": {"mem": {"key_expr": "demo/**", "volume": "memory"}}}"#;

#[test]
fn a_value_that_was_put_is_found_by_all() {
    let scene = Scene::new(MEMORY);
    scene.put("demo/a", "1");
    scene.put("demo/b/c", "2");
    scene.put("other", "3");
    assert_eq!(scene.get("demo/a"), ["demo/a=1"]);
    assert_eq!(scene.get("demo/**"), ["demo/a=1", "demo/b/c=2"]);
    assert_eq!(scene.get("demo/*/c"), ["demo/b/c=2"]);
    assert_eq!(scene.get("demo/none"), [""; 0]);
    scene.put("demo/a", "4");
    assert_eq!(scene.get("demo/a"), ["demo/a=4"]);
    scene.client.delete("demo/a").wait().unwrap();
    assert_eq!(scene.get("**"), ["demo/b/c=2"]);
    scene.client.put("demo/**", "all").wait().unwrap();
    assert_eq!(scene.get("**"), ["demo/b/c=all"]);
    scene.client.delete("demo/**").wait().unwrap();
    assert_eq!(scene.get("**"), [""; 0]);
    assert_eq!(
        (
            scene.metric("zonda_storage_puts"),
            scene.metric("zonda_storage_deletes")
        ),
        (4, 2)
    );
    until("all replies are counted", || {
        scene.metric("zonda_storage_replies") == 7
    });
    assert_eq!(scene.metric("zonda_storage_failures"), 0);
}

#[test]
fn a_callback_of_the_router_that_asks_again_is_answered() {
    let scene = Scene::new(MEMORY);
    scene.put("demo/a", "1");
    assert_eq!(scene.get("demo/a"), ["demo/a=1"]);
    let (found, values) = std::sync::mpsc::channel();
    let inner = scene.router.clone();
    let get = scene.router.get("demo/a").callback(move |_| {
        let again = inner.get("demo/a").timeout(SOON / 4).wait().unwrap();
        let values = again
            .iter()
            .map(|reply| reply.into_result().map(|it| text(&it)));
        found.send(values.collect::<Vec<_>>()).unwrap();
    });
    get.wait().unwrap();
    assert_eq!(
        values.recv_timeout(SOON),
        Ok(vec![Ok("demo/a=1".to_owned())])
    );
}

#[test]
fn a_reply_has_the_time_and_the_encoding_of_the_put() {
    let scene = Scene::new(MEMORY);
    let at = scene.client.new_timestamp();
    scene
        .client
        .put("demo/a", "{}")
        .encoding("application/json;v1")
        .timestamp(at)
        .wait()
        .unwrap();
    let older =
        zonda::time::Timestamp::new(zonda::time::Ntp64(at.time().as_u64() - 1), *at.get_id());
    scene
        .client
        .put("demo/a", "older")
        .timestamp(older)
        .wait()
        .unwrap();
    let replies = scene.client.get("demo/a").wait().unwrap();
    let reply = replies.recv().unwrap();
    let sample = reply.result().unwrap();
    assert_eq!(sample.timestamp(), Some(&at));
    assert_eq!(sample.encoding().to_string(), "application/json;v1");
    assert_eq!(scene.metric("zonda_storage_outdated"), 1);
    // Times that a query asks for.
    assert_eq!(scene.get("demo/a?_time=[now(-1h)..]"), ["demo/a={}"]);
    assert_eq!(scene.get("demo/*?_time=[..now(-1h)]"), [""; 0]);
    let refused = scene.get("demo/a?_time=yesterday");
    assert!(
        refused[0].starts_with("error: storage mem: `_time`"),
        "{refused:?}"
    );
}

#[test]
fn a_long_answer_comes_whole() {
    let scene = Scene::new(MEMORY);
    let (keys, large) = (5000, "x".repeat(300));
    for key in 0..keys {
        scene
            .client
            .put(format!("demo/{key:04}"), &large)
            .congestion_control(zonda::qos::CongestionControl::Block)
            .wait()
            .unwrap();
    }
    let found = scene.get("demo/*");
    assert_eq!(found.len(), keys);
    assert!(found.iter().all(|reply| reply.len() > 300));
    // One that looks at more keys than it replies with.
    assert_eq!(scene.get("demo/x$*").len(), 0);
    assert_eq!(scene.get("demo/$*999").len(), 5);
}

#[test]
fn what_was_stored_and_deleted_survives_a_restart() {
    let folder = Folder::new("storages");
    let scene = Scene::new(&redb(&folder, ""));
    for (key, value) in [
        ("demo", "0"),
        ("demo/a", "1"),
        ("demo/b", "2"),
        ("demo/w/x", "3"),
    ] {
        scene.put(key, value);
    }
    let old = scene.client.new_timestamp();
    scene.client.delete("demo/b").wait().unwrap();
    scene.client.delete("demo/w/**").wait().unwrap();
    assert_eq!(scene.get("**"), ["demo/a=1", "demo=0"]);
    drop(scene);
    let scene = Scene::new(&redb(&folder, ""));
    assert_eq!(scene.get("**"), ["demo/a=1", "demo=0"]);
    // Older updates that come late bring nothing back.
    for key in ["demo/b", "demo/w/x", "demo/w/y"] {
        scene.client.put(key, "late").timestamp(old).wait().unwrap();
    }
    assert_eq!(scene.get("**"), ["demo/a=1", "demo=0"]);
    scene.put("demo/w/x", "new");
    assert_eq!(scene.get("demo/w/*"), ["demo/w/x=new"]);
    // A read-only storage answers, and refuses.
    drop(scene);
    let scene = Scene::new(&redb(&folder, r#", "read_only": true"#));
    scene.put("demo/a", "refused");
    assert_eq!(scene.get("demo/a"), ["demo/a=1"]);
    assert_eq!(scene.metric("zonda_storage_failures"), 1);
}

#[test]
fn a_write_is_answered_once_it_is_stored() {
    let folder = Folder::new("storages");
    let scene = Scene::new(&redb(&folder, ""));
    let write = |selector: &str, payload: Option<&str>| {
        let get = scene.client.get(selector);
        let replies = match payload {
            Some(payload) => get.payload(payload).wait().unwrap(),
            None => get.wait().unwrap(),
        };
        let reply = replies.recv().unwrap();
        match reply.result() {
            Ok(sample) => format!("{:?} {}", sample.kind(), text(sample)),
            Err(error) => error.payload().try_to_string().unwrap().into_owned(),
        }
    };
    assert_eq!(write("demo/a?_write=put", Some("1")), "Put demo/a=");
    assert_eq!(scene.get("demo/a"), ["demo/a=1"]);
    assert_eq!(scene.metric("zonda_storage_commits"), 1);
    assert_eq!(write("demo/a?_write=delete", None), "Delete demo/a=");
    assert_eq!(scene.get("demo/a"), [""; 0]);
    for (selector, payload, words) in [
        ("demo/a?_write=put", None, "without a payload"),
        ("demo/a?_write=append", Some("1"), "neither put nor delete"),
    ] {
        let refused = write(selector, payload);
        assert!(refused.contains(words), "{refused}");
    }
}

#[test]
fn queries_change_nothing_unless_the_storage_says_so() {
    let scene = Scene::new(MEMORY);
    let get = scene.client.get("demo/a?_write=put").payload("1");
    let reply = get.wait().unwrap().recv().unwrap();
    let error = reply.result().expect_err("it is refused");
    let text = error.payload().try_to_string().unwrap();
    assert!(text.contains("`write_queries` is not true"), "{text}");
    assert_eq!(scene.get("demo/a"), [""; 0]);
}

#[test]
fn the_admin_space_shows_volumes_and_storages() {
    let json = r#"{"volumes": {"fast": {"backend": "memory", "private": {"key": "hunter2"}}},
        "storages": {"one": {"key_expr": "demo/**", "strip_prefix": "demo", "volume": {"id": "fast"}}}}"#;
    let scene = Scene::new(json);
    let root = format!(
        "@/{}/router/status/plugins/storage_manager",
        scene.router.zid()
    );
    let records = scene.get(&format!("{root}/**"));
    let of = |key: &str| {
        let key = format!("{root}{key}=");
        let found = records.iter().find_map(|record| record.strip_prefix(&key));
        found
            .unwrap_or_else(|| panic!("no {key} in {records:?}"))
            .to_owned()
    };
    assert_eq!(
        of("/storages/one"),
        r#"{"key_expr":"demo/**","strip_prefix":"demo","volume":{"id":"fast"}}"#
    );
    assert_eq!(of("/volumes/fast"), r#"{"backend":"memory"}"#);
    assert_eq!(of("/volumes/memory"), "{}");
    assert!(of("/version").starts_with('"'));
    assert!(of("").contains(r#""state":"Started""#));
    assert!(of("/metrics").contains("zonda_storage_puts_total{storage=\"one\"} 0"));
    assert!(!records.concat().contains("hunter2"));
}

#[test]
fn a_folder_has_one_storage() {
    let folder = Folder::new("storages");
    let scene = Scene::new(&redb(&folder, ""));
    let second = Storages::start(&scene.router, &redb(&folder, ""));
    let error = second.map(|_| ()).unwrap_err().to_string();
    assert!(
        error.contains("storage disk") && error.contains("in use"),
        "{error}"
    );
    until("nothing waits", || {
        scene.metric("zonda_storage_queries") == 0
    });
}

#[test]
fn a_history_answers_for_a_time() {
    let json = r#"{"storages": {"h": {"key_expr": "demo/**", "volume": "memory", "history": {"count": 100}}}}"#;
    let scene = Scene::new(json);
    for value in 0..40 {
        scene.put("demo/a", &format!("{value:02}"));
        scene.put("demo/b", "same");
    }
    scene.client.delete("demo/a").wait().unwrap();
    assert_eq!(scene.get("demo/*"), ["demo/b=same"]);
    let all: Vec<_> = (0..40).map(|value| format!("demo/a={value:02}")).collect();
    assert_eq!(scene.get("demo/a?_time=[now(-1h)..]"), all);
    assert_eq!(scene.get("demo/*?_time=[now(-1h)..]").len(), 80);
    assert_eq!(scene.get("demo/*?_time=[..now(-1h)]"), [""; 0]);
}

#[test]
fn a_history_answers_with_the_first_value_of_each_interval() {
    let json = r#"{"storages": {
        "h": {"key_expr": "demo/**", "volume": "memory", "history": {"count": 100000}},
        "last": {"key_expr": "last/**", "volume": "memory"}}}"#;
    let scene = Scene::new(json);
    // Ten values a second, for 1000 s: more than one part of an answer.
    let publisher = scene.client.declare_publisher("demo/a");
    let publisher = publisher
        .congestion_control(zonda::qos::CongestionControl::Block)
        .wait()
        .unwrap();
    let id = *scene.client.new_timestamp().get_id();
    for tenth in 0..10_000_u64 {
        let time = std::time::Duration::from_millis(1_700_000_000_050 + tenth * 100);
        let at = zonda::time::Timestamp::new(zonda::time::Ntp64::from_unix(time), id);
        let put = publisher.put(tenth.to_string()).timestamp(at);
        put.wait().unwrap();
    }
    until("all values are stored", || {
        scene.metric("zonda_storage_puts") == 10_000
    });
    let found = scene.get("demo/*?_time=[..];_every=1s");
    let mut expected: Vec<_> = (0..1000).map(|s| format!("demo/a={}", s * 10)).collect();
    expected.sort();
    assert_eq!(found, expected);
    let range = "_time=[2023-11-14T22:13:20.5Z..2023-11-14T22:13:23Z]";
    let found = scene.get(&format!("demo/a?{range};_every=1s"));
    assert_eq!(found, ["demo/a=10", "demo/a=20", "demo/a=5"]);
    let refused = scene.get("last/**?_time=[..];_every=1s");
    assert_eq!(
        refused,
        [
            "error: storage last: `_every` needs a storage with a `history`, and this one keeps last values alone"
        ]
    );
    assert!(scene.get("demo/a?_every=1s")[0].contains("needs a time"));
}
