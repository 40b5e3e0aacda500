// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda record` and `zonda replay`: recorded messages are published again, byte by byte
//! and at their times.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program::{Running, run, zonda};

/// Returns the path of a file of this test's own.
fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("zonda-{name}-{}.jsonl", std::process::id()))
}

fn json_line(running: &mut Running) -> Value {
    serde_json::from_str(&running.line()).expect("a JSON line")
}

/// Starts a subscriber of the measurement; returns it with the address that it prints when it
/// listens.
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
    assert_eq!(record.error(), "recorded 3 messages (6 bytes)");
    has_its_times(&fs::read_to_string(&file).expect("a text"));

    let (mut sub, there) = subscriber("6");
    let replay = [
        "replay", name, "--speed", "1000", "-m", "client", "-e", &there,
    ];
    for _ in 0..2 {
        let done = run(&zonda(), &replay);
        assert_eq!(
            (done.code, done.own_errors()),
            (Some(0), vec!["published 3 messages"])
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

/// Asserts that the head has the time of the start and the program; each message its time of
/// arrival, in decimals, and its timestamp.
fn has_its_times(recording: &str) {
    let mut lines = recording.lines();
    let mut next = || -> (String, Value) {
        let line = lines.next().expect("a line");
        (line.to_owned(), serde_json::from_str(line).expect("JSON"))
    };
    let (_, head) = next();
    let started = head["started"].as_str().expect("a time");
    let started = humantime::parse_rfc3339(started).expect("a time");
    assert!(started.elapsed().expect("it is over") < Duration::from_secs(600));
    assert_eq!(
        head["program"],
        concat!("zonda ", env!("CARGO_PKG_VERSION"))
    );
    let mut last = 0.0;
    for _ in 0..3 {
        let (line, message) = next();
        let at = line
            .strip_prefix("{\"at\":")
            .and_then(|rest| rest.split(',').next());
        let decimals = at
            .and_then(|at| at.split_once('.'))
            .map(|(_, decimals)| decimals);
        assert!(
            decimals.is_some_and(|digits| digits.len() == 6 && digits.parse::<u32>().is_ok()),
            "{line}"
        );
        assert!(
            message["at"].as_f64().is_some_and(|at| at >= last),
            "{line}"
        );
        last = message["at"].as_f64().expect("checked");
        // The router stamps its clients' puts.
        if message["delete"] == true {
            continue;
        }
        let time = message["time"]
            .as_str()
            .and_then(|time| humantime::parse_rfc3339(time).ok());
        let lag = time.and_then(|time| time.duration_since(started).ok());
        assert!(
            lag.is_some_and(|lag| lag < Duration::from_secs(600)),
            "{line}"
        );
        assert!(
            message["timestamp"]
                .as_str()
                .is_some_and(|text| text.contains('/')),
            "{line}"
        );
    }
}

#[test]
fn a_recording_that_knows_its_beginning_is_replayed_from_its_first_message() {
    let file = file("late");
    let head = "{\"zonda_recording\":1,\"key\":\"demo/**\",\"started\":\"2026-11-25T14:57:06.5Z\",\"of tomorrow\":1}";
    let lines = format!(
        "{head}\n{{\"at\":86400.000001,\"key\":\"demo/a\",\"payload\":\"1\"}}\n{{\"at\":86400.1,\"key\":\"demo/a\",\"payload\":\"2\"}}\n"
    );
    fs::write(&file, lines).expect("a file");
    let name = file.to_str().expect("a name");
    // The subscriber waits for one message more, so that it does not leave before the replay has
    // ended.
    let (mut sub, address) = subscriber("3");
    let done = run(&zonda(), &["replay", name, "-m", "client", "-e", &address]);
    assert_eq!(
        (done.code, done.err.as_str()),
        (Some(0), "published 2 messages")
    );
    assert_eq!(json_line(&mut sub)["payload"], "1");
    assert_eq!(json_line(&mut sub)["payload"], "2");
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
        let (mut sub, address) = subscriber(&(2 * passes + 1).to_string());
        let start = Instant::now();
        let replay = [&["replay", name, "-m", "client", "-e", &address][..], flags].concat();
        assert_eq!(run(&zonda(), &replay).code, Some(0));
        assert!(start.elapsed() >= least, "{flags:?}");
        for _ in 0..passes {
            assert_eq!(json_line(&mut sub)["payload"], "1");
            assert_eq!(json_line(&mut sub)["payload"], "2");
        }
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
        let script = run(&zonda(), &["completions", shell, "zondad"]);
        assert_eq!(script.code, Some(0));
        let is_of_the_daemon =
            script.out.contains("zondad") && script.out.contains("rest-http-port");
        assert!(
            is_of_the_daemon && !script.out.contains("queryable"),
            "{shell}"
        );
    }
    let directory = std::env::temp_dir().join(format!("zonda-man-{}", std::process::id()));
    let made = run(
        &zonda(),
        &["man", "--out", directory.to_str().expect("a name")],
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    let page = fs::read_to_string(directory.join("zonda-record.1")).expect("a page");
    assert!(
        page.contains("Record publications with the times"),
        "{page}"
    );
    assert!(!directory.join("zonda-perf-bare-pub.1").exists());
    let daemon = fs::read_to_string(directory.join("zondad.1")).expect("a page");
    assert!(
        daemon.contains("zondad") && daemon.contains("check"),
        "{daemon}"
    );
    // Scripts of earlier versions name the directory by a word alone.
    fs::remove_dir_all(&directory).expect("it is ours");
    let made = run(&zonda(), &["man", directory.to_str().expect("a name")]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(directory.join("zonda-record.1").exists());
    // A pipe gets the source of the page.
    for (words, text) in [
        (&[][..], "SUBCOMMANDS"),
        (&["perf", "quick"], "round trips"),
        (&["zondad"], "rest"),
    ] {
        let shown = run(&zonda(), &[&["man"][..], words].concat());
        assert_eq!(shown.code, Some(0), "{shown:?}");
        assert!(
            shown.out.contains(".TH") && shown.out.contains(text),
            "{shown:?}"
        );
    }
    let missing = run(&zonda(), &["man", "bare-pub"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    fs::remove_dir_all(&directory).expect("it is ours");
}

/// A recording may go to a terminal: control characters are written as escapes of JSON, and none is
/// lost.
#[test]
fn what_acts_on_a_terminal_is_recorded_in_escapes() {
    let text = "\u{9b}2J\u{7f}\u{202e}\u{2066}\u{1b}]0;x\u{7}\u{e0041}ü";
    let arguments = ["record", "demo/**", "-n", "1", "-l", "tcp/127.0.0.1:0"];
    let mut record = Running::start(&zonda(), &arguments);
    let head = record.line();
    assert!(head.contains("zonda_recording"), "{head}");
    let ready = record.error();
    let there = ready
        .split(' ')
        .find(|word| word.starts_with("tcp/"))
        .expect(&ready);
    let put = [
        "put",
        "demo/a",
        text,
        "-m",
        "client",
        "-e",
        there.trim_end_matches([',', ';']),
    ];
    let done = run(&zonda(), &put);
    assert_eq!(done.code, Some(0), "{done:?}");
    let line = record.line();
    let acts = |c: &char| c.is_control() || "\u{202e}\u{2066}\u{e0041}".contains(*c);
    assert_eq!(line.chars().find(acts), None, "{line:?}");
    let value: Value = serde_json::from_str(&line).expect("a JSON line");
    assert_eq!(value["payload"], text);
    assert_eq!(record.end().code(), Some(0));
}
