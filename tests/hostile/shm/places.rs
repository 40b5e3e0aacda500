// SPDX-License-Identifier: MIT OR Apache-2.0
//! Systems without shared memory, without room in it, and with memory that cannot be written: the test runs itself again with
//! a `/dev/shm` of its own.

use std::fs;
use std::process::Command;

use zonda::{Config, Wait};

use super::Stage;
use super::stage::next;
use crate::scene::until;

/// Variable that names the test to the inner run.
const INSIDE: &str = "ZONDA_TEST_WITHOUT_SHM";

/// Runs `body` where `setup` has changed the file system for this test alone. Skipped where the system permits no such
/// change.
fn inside(test: &str, setup: &str, body: impl FnOnce()) {
    if std::env::var(INSIDE).is_ok_and(|name| name == test) {
        return body();
    }
    let script = format!("{setup} && exec \"$@\"");
    let unshare = |program: &str, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &script, "sh", program]);
        command.args(arguments).env(INSIDE, test);
        command.output()
    };
    if !unshare("true", &[]).is_ok_and(|output| output.status.success()) {
        eprintln!("{test}: left out, as this system permits no file system of a test's own");
        return;
    }
    let program = std::env::current_exe().expect("this program is a file");
    let program = program.to_string_lossy();
    let arguments = ["--exact", test, "--nocapture", "--test-threads=1"];
    let output = unshare(&program, &arguments).expect("it started before");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{test} inside:\n{said}\n{complained}"
    );
}

/// Passes payloads where no node has shared memory; the router says so in one line.
fn pass_over_links() {
    let mut stage = Stage::open();
    assert_eq!(stage.honest_pass(), 0, "all go over links");
    let lines = stage.lines();
    let about = lines
        .iter()
        .filter(|line| line.contains("no shared memory"));
    assert_eq!(about.count(), 1, "{lines:#?}");
    let session = zonda::open(Config::peer()).wait().expect("it opens");
    session.shm_provider(1000).expect_err("there is none");
}

#[test]
fn no_shared_memory() {
    // a folder of devices without the folder of shared memory
    let setup = "d=$(mktemp -d) && mkdir $d/dev && for f in null zero urandom random; do : > $d/dev/$f; \
                 mount --bind /dev/$f $d/dev/$f || exit 1; done && mount --rbind $d/dev /dev";
    inside("shm::places::no_shared_memory", setup, || {
        assert!(!fs::exists("/dev/shm").expect("a folder"));
        pass_over_links();
    });
}

#[test]
fn shared_memory_that_cannot_be_written() {
    let setup = "mount -t tmpfs -o ro tmpfs /dev/shm";
    inside(
        "shm::places::shared_memory_that_cannot_be_written",
        setup,
        pass_over_links,
    );
}

/// Room for the proofs and no pool: what is large goes over links.
#[test]
fn shared_memory_of_64_kib() {
    let setup = "mount -t tmpfs -o size=64k tmpfs /dev/shm";
    inside("shm::places::shared_memory_of_64_kib", setup, || {
        let mut stage = Stage::open();
        assert_eq!(stage.honest_pass(), 0, "all go over links");
        assert_eq!(
            stage.metric("zonda_shm_links"),
            2,
            "that share what there is"
        );
        let heard = stage.overheard();
        stage.publish_plain("attack/plain", 10);
        (0..10).for_each(|_| assert!(!next(&heard).payload().is_shm()));
        stage.until_metric("zonda_shm_pool_full_total", |count| count > 0);
        let lines = stage.lines();
        let about = lines.iter().filter(|line| line.contains("no memory for"));
        assert_eq!(about.count(), 1, "{lines:#?}");
    });
}

/// A file system that another program fills while payloads pass, and empties again.
#[test]
fn shared_memory_that_another_program_fills() {
    let setup = "mount -t tmpfs -o size=12m tmpfs /dev/shm";
    inside(
        "shm::places::shared_memory_that_another_program_fills",
        setup,
        || {
            let mut stage = Stage::open();
            stage.is_well();
            // all that is left is used: plain payloads cannot be copied into the router's pool
            let mut filler = fs::File::create("/dev/shm/filler").expect("a file");
            let page = [1; 4096];
            while std::io::Write::write_all(&mut filler, &page).is_ok() {}
            let heard = stage.overheard();
            for _ in 0..3 {
                stage.publish_plain("attack/plain", 100);
                for _ in 0..100 {
                    assert_eq!(next(&heard).payload().len(), 5000);
                }
            }
            stage.honest_pass();
            fs::remove_file("/dev/shm/filler").expect("it is there");
            drop(filler);
            until("there is room", || stage.honest_pass() > 0);
        },
    );
}
