// SPDX-License-Identifier: MIT OR Apache-2.0

//! Storages on a disk that is full, or that is mounted read-only. The test runs itself again in a
//! mount namespace of its own, on a small disk in memory. Needs Linux with `unshare` and `mount`, and
//! a system that permits them; elsewhere the test is skipped and reports that.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use zonda::query::ConsolidationMode;
use zonda::{Config, Session, Wait};
use zonda_storage::Storages;
use zonda_testkit::Folder;

/// Variable that has the folder of the disk in the inner run.
const DISK: &str = "ZONDA_TEST_DISK";
/// Size of the disk, and of a file that leaves less.
const DISK_BYTES: usize = 16 << 20;
const BALLAST_BYTES: usize = 8 << 20;
/// A limit for steps that take no time.
const SOON: Duration = Duration::from_secs(20);

struct Scene {
    session: Session,
    storages: Storages,
}

impl Scene {
    fn new(volume: &str) -> Result<Scene, String> {
        let config = Config::router().listen(["tcp/127.0.0.1:0"]);
        let config = config.with("scouting/multicast/enabled", "false");
        let session = zonda::open(config).wait().unwrap();
        let json = format!(
            r#"{{"storages": {{"disk": {{"key_expr": "k/**", "strip_prefix": "k", "write_queries": true, "volume": {volume}}}}}}}"#
        );
        let storages = Storages::start(&session, &json).map_err(|error| error.to_string())?;
        Ok(Scene { session, storages })
    }

    /// Writes a value, and waits for the answer.
    fn write(&self, key: &str, value: &str) -> Result<(), String> {
        let get = self.session.get(format!("{key}?_write=put")).payload(value);
        let replies = get.timeout(SOON).wait().unwrap();
        match replies.recv().expect("an answer").result() {
            Ok(_) => Ok(()),
            Err(error) => Err(error.payload().try_to_string().unwrap().into_owned()),
        }
    }

    fn read(&self) -> BTreeMap<String, String> {
        let get = self.session.get("k/**").timeout(SOON);
        let replies = get.consolidation(ConsolidationMode::None).wait().unwrap();
        let each = replies.iter().map(|reply| {
            let sample = reply
                .result()
                .unwrap_or_else(|error| panic!("{}", error.payload().try_to_string().unwrap()));
            let value = sample.payload().try_to_string().unwrap().into_owned();
            (sample.key_expr().to_string(), value)
        });
        each.collect()
    }

    /// Asserts that all that was acknowledged is there.
    #[track_caller]
    fn has(&self, acknowledged: &BTreeMap<String, String>) {
        let found = self.read();
        for (key, value) in acknowledged {
            assert!(found.get(key) == Some(value), "{key} is lost");
        }
    }

    /// Closes it like a process that ends.
    fn end(self) {
        drop(self.storages);
        self.session.close().wait().unwrap();
    }
}

fn volume(name: &str, disk: &Path, more: &str) -> String {
    let dir = disk.join(name);
    format!(r#"{{"id": "{name}", "dir": {dir:?}{more}}}"#)
}

#[test]
fn nothing_acknowledged_is_lost_on_a_full_or_read_only_disk() {
    if let Some(disk) = std::env::var_os(DISK) {
        let disk = PathBuf::from(disk);
        for name in ["redb", "fs"] {
            fills(name, &disk);
            is_read_only(name, &disk);
            fs::remove_dir_all(disk.join(name)).unwrap();
        }
        return;
    }
    let folder = Folder::new("full-disk");
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command.arg(folder.path());
        command
    };
    let mount = format!("mount -t tmpfs -o size={DISK_BYTES} zonda \"$0\"");
    let is_permitted = unshare(&mount).output().is_ok_and(|it| it.status.success());
    if !is_permitted {
        eprintln!("skipped: this system permits no disk of its own (unshare --mount, mount)");
        return;
    }
    let mut inner = unshare(&format!("{mount} && exec \"$@\""));
    inner.arg(std::env::current_exe().unwrap());
    let test = "nothing_acknowledged_is_lost_on_a_full_or_read_only_disk";
    inner.args(["--exact", test, "--nocapture"]);
    let ended = inner.env(DISK, folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    let complained = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}\n{complained}"
    );
}

fn fills(name: &str, disk: &Path) {
    let ballast = disk.join("ballast");
    fs::write(&ballast, vec![1; BALLAST_BYTES]).unwrap();
    let scene = Scene::new(&volume(name, disk, "")).unwrap();
    let mut acknowledged = BTreeMap::new();
    let mut refused = 0;
    for number in 0.. {
        let (key, value) = (format!("k/{number}"), format!("{number:040000}"));
        match scene.write(&key, &value) {
            Ok(()) => drop(acknowledged.insert(key, value)),
            Err(error) => {
                assert!(
                    error.starts_with("storage disk: ") && !error.contains('\n'),
                    "{error}"
                );
                assert!(error.contains("No space left"), "{error}");
                refused += 1;
            }
        }
        if refused == 3 {
            break;
        }
    }
    assert!(acknowledged.len() > 10, "{name}: {}", acknowledged.len());
    scene.has(&acknowledged);
    // It ends while the disk is full, and begins again: with all of it, or not at all.
    scene.end();
    match Scene::new(&volume(name, disk, "")) {
        Ok(scene) => {
            scene.has(&acknowledged);
            scene.end();
        }
        Err(error) => assert!(
            error.contains("No space left") && !error.contains('\n'),
            "{error}"
        ),
    }
    // With room it works on, also without another start.
    let before = fs::metadata(&ballast).unwrap().len();
    fs::remove_file(&ballast).unwrap();
    let scene = Scene::new(&volume(name, disk, "")).unwrap();
    scene.has(&acknowledged);
    fs::write(&ballast, vec![1; usize::try_from(before).unwrap()]).unwrap();
    let mut number = 0;
    while scene.write("k/again", &format!("{number:060000}")).is_ok() {
        number += 1;
        let file = disk.join(format!("ballast-{number}"));
        // An error means that the disk is full now.
        let _ = fs::write(file, vec![1; 500_000]);
    }
    for number in 1..=number {
        fs::remove_file(disk.join(format!("ballast-{number}"))).unwrap();
    }
    fs::remove_file(&ballast).unwrap();
    let start = Instant::now();
    while let Err(error) = scene.write("k/again", "1") {
        assert!(start.elapsed() < SOON, "{error}");
    }
    acknowledged.insert("k/again".to_owned(), "1".to_owned());
    scene.has(&acknowledged);
    scene.end();
    let scene = Scene::new(&volume(name, disk, "")).unwrap();
    scene.has(&acknowledged);
    scene.end();
}

fn is_read_only(name: &str, disk: &Path) {
    let remount = |how: &str| {
        let option = format!("remount,{how}");
        let mut mount = Command::new("mount");
        let mount = mount.args(["-o", &option]).arg(disk).output().unwrap();
        assert!(mount.status.success(), "{mount:?}");
    };
    remount("ro");
    let error = Scene::new(&volume(name, disk, "")).map(|_| ()).unwrap_err();
    assert!(
        error.contains("storage disk") && error.contains("Read-only") && !error.contains('\n'),
        "{error}"
    );
    let scene = Scene::new(&volume(name, disk, r#", "read_only": true"#)).unwrap();
    assert_eq!(scene.read()["k/again"], "1");
    let error = scene.write("k/again", "2").unwrap_err();
    assert_eq!(error, "storage disk: the volume is read-only");
    scene.end();
    remount("rw");
}
