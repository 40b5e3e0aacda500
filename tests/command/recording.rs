// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda record` and `zonda replay`: what is written down is published again, byte by byte and at its times.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program::{Running, run, zonda};

/// A file of this test's own.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("zonda-{name}-{}.jsonl", std::process::id()))
}

fn json_line(running: &mut Running) -> Value {
    serde_json::from_str(&running.line()).expect("a JSON line")
}

/// The listening node prints this when somebody may connect.
fn subscriber(number: &str) -> (Running, String) {
    let arguments = [
        "sub",
        "demo/**",
        "-n",
        number,
        "--json",
        "-l",
        "tcp/127.0.0.1:0",
    ];
    let mut running = Running::start(&zonda(), &arguments);
    let ready = json_line(&mut running);
    let address = ready["listening"][0].as_str().expect("it listens");
    (running, address.to_owned())
}

#[test]
fn what_is_recorded_is_replayed() {
    let (file, mut router) = (
        file("walk"),
        Running::start(&zonda(), &["router", "--json", "-l", "tcp/127.0.0.1:0"]),
    );
    let ready = json_line(&mut router);
    let address = ready["listening"][0].as_str().expect("it listens");
    let client = ["-m", "client", "-e", address];
    let name = file.to_str().expect("a name");
    let record = [&["record", "demo/**", "-n", "3", "-o", name][..], &client].concat();
    let mut record = Running::start(&zonda(), &record);
    assert!(record.error().starts_with("connected to router "));
    for words in [
        &["put", "demo/a", "text", "-a", "note", "--priority", "2"][..],
        &["put", "demo/b", "--hex", "00ff", "--priority", "2"],
        &["delete", "demo/a"],
    ] {
        let done = run(&zonda(), &[words, &client].concat());
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    assert_eq!(record.end().code(), Some(0));
    assert_eq!(record.error(), "recorded: messages 3, payload bytes 6");

    let (mut sub, there) = subscriber("6");
    let replay = [
        "replay", name, "--speed", "1000", "-m", "client", "-e", &there,
    ];
    for _ in 0..2 {
        let done = run(&zonda(), &replay);
        assert_eq!(
            (done.code, done.err.as_str()),
            (Some(0), "published: messages 3")
        );
        let text = json_line(&mut sub);
        let seen = [
            &text["payload"],
            &text["attachment"],
            &text["priority"],
            &text["encoding"],
        ];
        assert_eq!(
            seen,
            [
                &json!("text"),
                &json!("note"),
                &json!("InteractiveHigh"),
                &json!("text/plain")
            ]
        );
        let bytes = json_line(&mut sub);
        assert_eq!(
            (&bytes["payload_base64"], &bytes["encoding"]),
            (&json!("AP8="), &json!("zenoh/bytes"))
        );
        assert_eq!(json_line(&mut sub)["kind"], "DELETE");
    }
    assert_eq!(sub.end().code(), Some(0));
    fs::remove_file(&file).expect("it is ours");
}

#[test]
fn times_are_kept_and_fast_is_without() {
    let file = file("times");
    let lines = "{\"zonda_recording\":1,\"key\":\"demo/**\"}\n{\"at\":0,\"key\":\"demo/a\",\"payload\":\"1\"}\n\
                 {\"at\":1.2,\"key\":\"demo/a\",\"payload\":\"2\"}\n";
    fs::write(&file, lines).expect("a file");
    let name = file.to_str().expect("a name");
    for (flags, least) in [
        (&["--speed", "2"][..], Duration::from_millis(600)),
        (&["--fast", "--times", "2"], Duration::ZERO),
    ] {
        let passes = if flags.len() > 2 { 2 } else { 1 };
        let (mut sub, address) = subscriber(&(2 * passes).to_string());
        let start = Instant::now();
        let replay = [&["replay", name, "-m", "client", "-e", &address][..], flags].concat();
        assert_eq!(run(&zonda(), &replay).code, Some(0));
        assert!(start.elapsed() >= least, "{flags:?}");
        for _ in 0..passes {
            assert_eq!(json_line(&mut sub)["payload"], "1");
            assert_eq!(json_line(&mut sub)["payload"], "2");
        }
        assert_eq!(sub.end().code(), Some(0));
    }
    fs::remove_file(&file).expect("it is ours");
}

#[test]
fn what_is_no_recording_is_said_with_its_line() {
    let file = file("bad");
    let name = file.to_str().expect("a name");
    let head = "{\"zonda_recording\":1,\"key\":\"**\"}\n";
    let (mut sub, address) = subscriber("9");
    for (content, line, text) in [
        (String::new(), 1, "it is empty"),
        ("hello\n".to_owned(), 1, "expected value"),
        (head.replace(":1", ":2"), 1, "format 2"),
        (
            format!("{head}{{\"at\":-1,\"key\":\"a\",\"payload\":\"\"}}"),
            2,
            "-1 is no time",
        ),
        (
            format!("{head}{{\"at\":0,\"key\":\"a//b\",\"payload\":\"\"}}"),
            2,
            "a//b",
        ),
        (format!("{head}{{\"at\":0,\"key\":\"a\"}}"), 2, "payload"),
        (
            format!("{head}{{\"at\":0,\"key\":\"a\",\"payload_base64\":\"?\"}}"),
            2,
            "base64",
        ),
        (
            format!("{head}{{\"at\":0,\"key\":\"a\",\"payload\":\"\",\"priority\":9}}"),
            2,
            "1 (most urgent)",
        ),
    ] {
        fs::write(&file, &content).expect("a file");
        let ended = run(&zonda(), &["replay", name, "-m", "client", "-e", &address]);
        let place = format!("{name}:{line}: ");
        assert!(
            ended.err.contains(&place) && ended.err.contains(text),
            "{content}: {ended:?}"
        );
        assert_eq!(
            (ended.code, ended.err.lines().count()),
            (Some(1), 1),
            "{content}: {ended:?}"
        );
    }
    assert_eq!(
        run(&zonda(), &["replay", "-", "--times", "2"]).code,
        Some(2)
    );
    let missing = run(&zonda(), &["replay", "/nowhere/to/be/found"]);
    assert!(
        missing.err.starts_with("error: cannot read /nowhere"),
        "{missing:?}"
    );
    fs::remove_file(&file).expect("it is ours");
    sub.signal("TERM");
    assert_eq!(sub.end().code(), Some(0));
}

#[test]
fn shells_and_manuals_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&zonda(), &["completions", shell]);
        assert_eq!(script.code, Some(0));
        assert!(
            script.out.contains("queryable") && script.out.contains("hexdump"),
            "{shell}"
        );
    }
    let directory = std::env::temp_dir().join(format!("zonda-man-{}", std::process::id()));
    let made = run(&zonda(), &["man", directory.to_str().expect("a name")]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let page = fs::read_to_string(directory.join("zonda-record.1")).expect("a page");
    assert!(page.contains("Write down what is published"), "{page}");
    assert!(!directory.join("zonda-perf-bare-pub.1").exists());
    fs::remove_dir_all(&directory).expect("it is ours");
}
