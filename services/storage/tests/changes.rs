// SPDX-License-Identifier: MIT OR Apache-2.0

//! Storages that are added, changed and removed while others run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zonda::qos::CongestionControl;
use zonda::{Config, Session, Wait};
use zonda_storage::Storages;
use zonda_testkit::Folder;

struct Scene {
    storages: Storages,
    session: Session,
}

impl Scene {
    fn new(json: &str) -> Scene {
        let config = Config::router().listen(["tcp/127.0.0.1:0"]);
        let config = config.with("scouting/multicast/enabled", "false");
        let session = zonda::open(config).wait().unwrap();
        let storages = Storages::start(&session, json).unwrap();
        Scene { storages, session }
    }

    fn put(&self, key: &str, value: &str) {
        let put = self.session.put(key, value);
        put.congestion_control(CongestionControl::Block)
            .wait()
            .unwrap();
    }

    fn get(&self, selector: &str) -> Vec<String> {
        let replies = self.session.get(selector).wait().unwrap();
        let each = replies.iter().map(|reply| {
            let sample = reply.result().unwrap();
            let value = sample.payload().try_to_string().unwrap().into_owned();
            format!("{}={value}", sample.key_expr())
        });
        let mut each: Vec<_> = each.collect();
        each.sort();
        each
    }

    #[track_caller]
    fn refused(&self, json: &str) -> String {
        let before = self.storages.status();
        let error = self.storages.change(json).unwrap_err().to_string();
        assert_eq!(self.storages.status(), before);
        assert!(!error.contains('\n'), "{error}");
        error
    }
}

fn all(storages: &[&str]) -> String {
    format!("{{\"storages\": {{{}}}}}", storages.join(", "))
}

fn redb(name: &str, folder: &str, more: &str) -> String {
    format!(
        r#""{name}": {{"key_expr": "{name}/**", "volume": {{"id": "redb", "dir": {folder:?}{more}}}}}"#
    )
}

const A: &str = r#""a": {"key_expr": "a/**", "volume": "memory"}"#;
const A_COMPLETE: &str = r#""a": {"key_expr": "a/**", "volume": "memory", "complete": true}"#;
const B: &str = r#""b": {"key_expr": "b/**", "volume": "memory"}"#;

#[test]
fn a_storage_comes_changes_and_goes_while_others_keep_their_data() {
    let scene = Scene::new(&all(&[A]));
    scene.put("a/x", "1");
    assert_eq!(scene.get("a/**"), ["a/x=1"]);
    scene.storages.change(&all(&[A, B])).unwrap();
    scene.put("b/x", "2");
    assert_eq!(scene.get("*/x"), ["a/x=1", "b/x=2"]);
    // A changed one keeps what it has, also in memory.
    scene.storages.change(&all(&[A_COMPLETE, B])).unwrap();
    scene.put("a/y", "3");
    assert_eq!(scene.get("*/*"), ["a/x=1", "a/y=3", "b/x=2"]);
    scene.storages.change(&all(&[B])).unwrap();
    assert_eq!(scene.storages.status(), "b (memory on b/**)");
    assert_eq!(scene.get("*/*"), ["b/x=2"]);
    let counters = scene.storages.counters().samples();
    assert!(counters.iter().all(|sample| {
        let labels = format!("{sample:?}");
        !labels.contains("\"a\"")
    }));
    scene.storages.change("{}").unwrap();
    assert_eq!(scene.get("*/*"), [""; 0]);
    assert!(scene.storages.is_empty());
}

#[test]
fn a_change_that_fails_changes_nothing() {
    let folder = Folder::new("storage-change");
    let free = folder.path().join("free");
    let free = free.to_str().unwrap();
    let destroys = r#", "on_closure": "destroy_db""#;
    let disk = redb("disk", free, destroys);
    let scene = Scene::new(&all(&[A, &disk]));
    scene.put("a/x", "1");
    scene.put("disk/x", "2");
    assert_eq!(scene.get("*/x"), ["a/x=1", "disk/x=2"]);
    // A value that is wrong, and one that is wrong only once the disk is asked.
    let error = scene.refused(&all(&[A_COMPLETE, r#""c": {"key_expr": "c/**"}"#]));
    assert!(error.contains("storages/c/volume"), "{error}");
    let error = scene.refused(&all(&[A_COMPLETE, &redb("c", free, "")]));
    assert!(error.contains("in use"), "{error}");
    // One of two changed storages does not open: the other returns to its values and its data.
    let nowhere = redb("disk", "/dev/null/x", destroys);
    let error = scene.refused(&all(&[A_COMPLETE, &nowhere]));
    assert!(
        error.contains("storage disk") && error.contains("/dev/null/x"),
        "{error}"
    );
    scene.put("a/y", "3");
    assert_eq!(scene.get("*/*"), ["a/x=1", "a/y=3", "disk/x=2"]);
    // A new one beside one that fails leaves its folder as it found it.
    let old = folder.path().join("old");
    let old = old.to_str().unwrap();
    scene
        .storages
        .change(&all(&[&redb("old", old, "")]))
        .unwrap();
    assert!(
        !std::path::Path::new(free).join("storage.redb").exists(),
        "it was removed"
    );
    scene.put("old/x", "4");
    assert_eq!(scene.get("old/x"), ["old/x=4"]);
    scene.storages.change("{}").unwrap();
    scene.refused(&all(&[
        &redb("old", old, destroys),
        &redb("z", "/dev/null/x", ""),
    ]));
    scene
        .storages
        .change(&all(&[&redb("old", old, destroys)]))
        .unwrap();
    assert_eq!(scene.get("old/x"), ["old/x=4"]);
    // Other options of the volume open the same data again.
    let each = r#", "durability": "each""#;
    scene
        .storages
        .change(&all(&[&redb("old", old, each)]))
        .unwrap();
    assert_eq!(scene.get("old/x"), ["old/x=4"]);
}

#[test]
fn nothing_is_lost_of_a_storage_that_changes_while_values_arrive() {
    const ROUNDS: usize = 50;
    let scene = Scene::new(&all(&[A, B]));
    let is_over = Arc::new(AtomicBool::new(false));
    let (session, over) = (scene.session.clone(), Arc::clone(&is_over));
    let writer = std::thread::spawn(move || {
        let mut count = 0;
        while !over.load(Ordering::Relaxed) {
            for storage in ["a", "b"] {
                let put = session.put(format!("{storage}/{}", count % 1000), count.to_string());
                put.congestion_control(CongestionControl::Block)
                    .wait()
                    .unwrap();
            }
            count += 1;
        }
        count
    });
    for round in 0..ROUNDS {
        let a = [A, A_COMPLETE][round % 2];
        scene.storages.change(&all(&[a, B])).unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    let count: usize = writer.join().unwrap();
    for storage in ["a", "b"] {
        for number in count.saturating_sub(1000)..count {
            let key = format!("{storage}/{}", number % 1000);
            assert_eq!(scene.get(&key), [format!("{key}={number}")]);
        }
    }
}

#[test]
fn storages_that_have_stopped_are_not_changed() {
    let scene = Scene::new(&all(&[A]));
    scene.storages.stop();
    let error = scene.refused(&all(&[A, B]));
    assert_eq!(error, "the storage has stopped");
}
