// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda tls`: its output configures two programs that connect.

use std::path::PathBuf;

use super::program::{Running, run, zonda};

/// A directory that is removed with the value.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        Place(std::env::temp_dir().join(format!("zonda-tls-{name}-{}", std::process::id())))
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // files that stay do no harm
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the flags `--cfg` of a part of the printed output.
fn flags(printed: &str) -> Vec<String> {
    let mut flags = Vec::new();
    for part in printed.split("--cfg ").skip(1) {
        let value = match part.strip_prefix('\'') {
            Some(quoted) => quoted.split('\'').next(),
            None => part.split_whitespace().next(),
        };
        flags.extend(["--cfg".to_owned(), value.expect("a value").to_owned()]);
    }
    flags
}

fn with(first: &[&str], flags: &[String]) -> Vec<String> {
    let first = first.iter().map(ToString::to_string);
    first.chain(flags.iter().cloned()).collect()
}

fn start(arguments: &[String]) -> Running {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Running::start(&zonda(), &arguments)
}

#[test]
fn two_programs_talk_by_what_it_prints() {
    let place = Place::new("talk");
    let made = run(
        &zonda(),
        &["tls", "init", place.text(), "--host", "robot.lan"],
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    let parts: Vec<&str> = made.out.split("\nA node that connects:").collect();
    let [listening, rest] = parts[..] else {
        panic!("{made:?}");
    };
    assert!(listening.contains("robot.lan, localhost"), "{made:?}");
    let (connecting, both) = rest.split_once("To let in only").expect("mTLS");
    assert!(connecting.contains("zonda sub -m client "), "{made:?}");
    let (more_here, more_there) = both.split_once("and to those").expect("both ends");
    for mutual in [false, true] {
        let mut here = flags(listening);
        let mut there = flags(connecting);
        if mutual {
            here.extend(flags(more_here));
            there.extend(flags(more_there));
        }
        let flags = ["router", "-l", "tls/127.0.0.1:0", "--no-multicast-scouting"];
        let mut router = start(&with(&flags, &here));
        let at = router.after("listening on ");
        assert!(at.starts_with("tls/127.0.0.1:"), "{at}");
        let sub = start(&with(
            &["sub", "-m", "client", "-k", "demo/**", "-e", &at, "-n", "1"],
            &there,
        ));
        let mut put = start(&with(
            &["put", "-k", "demo/hi", "-p", "hello", "-e", &at],
            &there,
        ));
        // The first put may come before the subscriber.
        while put.end().code() == Some(0)
            && sub.lines.try_iter().all(|line| !line.contains("hello"))
        {
            put = start(&with(
                &["put", "-k", "demo/hi", "-p", "hello", "-e", &at],
                &there,
            ));
        }
        let stranger = ["put", "-k", "demo/hi", "-p", "x", "-e", &at];
        let refused = run(&zonda(), &stranger);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.err.contains("set root_ca_certificate"),
            "{refused:?}"
        );
    }
}

#[test]
fn files_that_are_there_are_left_alone_and_keys_are_for_their_owner() {
    let place = Place::new("twice");
    let init = |more: &[&str]| {
        let mut arguments = vec!["tls", "init", place.text()];
        arguments.extend(more);
        run(&zonda(), &arguments)
    };
    let wrong = init(&["--host", "no host\u{e9}"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert_eq!(init(&[]).code, Some(0));
    let before = std::fs::read(place.0.join("ca.pem")).expect("it is there");
    let again = init(&[]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(
        again.err.contains("ca.pem exists; take another directory"),
        "{again:?}"
    );
    assert_eq!(
        std::fs::read(place.0.join("ca.pem")).expect("still"),
        before
    );
    #[cfg(unix)]
    for key in ["ca.key", "server.key", "client.key"] {
        use std::os::unix::fs::PermissionsExt;
        let found = place.0.join(key).metadata().expect("it is there");
        assert_eq!(found.permissions().mode() & 0o777, 0o600, "{key}");
    }
}
