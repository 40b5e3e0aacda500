// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda perf thr`: every shape of a flow prints its rows and leaves a record whose
//! counts add up.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use zonda_testkit::Folder;

use super::program::{DEADLINE, Ended, Running, run, zonda};

/// Runs it in a short time; returns its end and its record.
fn thr(name: &str, arguments: &str) -> (Ended, Value) {
    let folder = Folder::new(&format!("thr-{name}"));
    let file = folder.file("thr.json");
    let mut all = vec!["perf", "thr", "--rounds", "1", "--json", &file];
    all.extend(["--seconds", "0.1", "--warm-up", "0.02"]);
    all.extend(arguments.split_whitespace());
    let ended = run(&zonda(), &all);
    let text = std::fs::read_to_string(Path::new(&file)).unwrap_or_default();
    (ended, serde_json::from_str(&text).unwrap_or_default())
}

/// Returns the sum over the rounds of a metric.
fn sum(cell: &Value, metric: &str) -> f64 {
    let rounds = cell["metrics"][metric]["rounds"].as_array();
    let rounds = rounds.unwrap_or_else(|| panic!("no {metric}: {cell}"));
    rounds.iter().filter_map(Value::as_f64).sum()
}

/// Checks a run that must succeed, and returns its cells.
fn cells(name: &str, arguments: &str) -> Vec<Value> {
    let (ended, record) = thr(name, arguments);
    // the run succeeds with a record of the right kind
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        (&record["schema"], &record["tool"]),
        (&1.into(), &"thr".into())
    );
    // the table has a row for each cell
    let cells = record["cells"].as_array().cloned().unwrap_or_default();
    let rows = ended.out.lines().filter(|l| l.starts_with('|')).count();
    assert_eq!(rows, cells.len() + 2, "{}", ended.out);
    // rates are positive, and no message is unaccounted for
    for cell in &cells {
        assert!(sum(cell, "rate") > 0.0, "{cell}");
        if cell["system"] == "zonda" {
            assert!(sum(cell, "offered") > 0.0, "{cell}");
            let found = sum(cell, "delivered") + sum(cell, "lost");
            assert_eq!(sum(cell, "offered"), found, "{cell}");
            assert_eq!(
                sum(cell, "duplicated") + sum(cell, "reordered"),
                0.0,
                "{cell}"
            );
        }
    }
    cells
}

fn names(cells: &[Value]) -> Vec<String> {
    let name = |cell: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!(
            "{} {} {}",
            text(&cell["case"]),
            cell["x"]["value"],
            text(&cell["system"])
        )
    };
    cells.iter().map(name).collect()
}

#[test]
fn sizes_and_topologies() {
    let cells = cells("sizes", "--sizes 1,8,100k");
    let mut expected = Vec::new();
    for topology in ["p2p", "routed"] {
        for size in ["1.0", "8.0", "102400.0"] {
            expected.extend(["zonda", "bare sockets"].map(|s| format!("{topology} {size} {s}")));
        }
    }
    assert_eq!(names(&cells), expected);
    for cell in &cells {
        let is_zonda = cell["system"] == "zonda";
        assert!(!is_zonda || sum(cell, "lost") == 0.0, "{cell}");
        for role in ["sender", "receiver"] {
            if cfg!(target_os = "linux") {
                assert!(sum(cell, &format!("cpu_{role}")) > 0.0, "{cell}");
                assert!(sum(cell, &format!("rss_{role}")) > 0.0, "{cell}");
            }
        }
        assert_eq!(
            cell["metrics"]["cpu_router"].is_null(),
            cell["case"] == "p2p"
        );
    }
}

#[test]
fn fan_in_and_fan_out() {
    let cells = cells("fans", "--sizes 64 --publishers 3 --subscribers 3");
    let expected = [
        "p2p fan-in 3 fan-out 3 64.0 zonda",
        "p2p fan-in 3 fan-out 3 64.0 bare sockets",
        "routed fan-in 3 fan-out 3 64.0 zonda",
        "routed fan-in 3 fan-out 3 64.0 bare sockets",
    ];
    assert_eq!(names(&cells), expected);
    // each subscriber gets every message of each publisher
    for cell in cells.iter().filter(|c| c["system"] == "zonda") {
        assert_eq!(sum(cell, "offered") % 3.0, 0.0, "{cell}");
        assert_eq!(sum(cell, "lost"), 0.0, "{cell}");
    }
}

#[test]
fn rotating_keys_and_quality_of_service() {
    let cells = cells(
        "keys",
        "--sizes 8 --keys 50 --priority 2 --express --reliability best-effort",
    );
    let case = "keys 50 priority 2 express best-effort";
    assert_eq!(cells[0]["case"], format!("p2p {case}"));
    assert_eq!(cells[2]["case"], format!("routed {case}"));
    assert_eq!(sum(&cells[2], "lost"), 0.0, "{}", cells[2]);
}

#[test]
fn what_is_dropped_is_counted() {
    // the exit code 0 shows that every missing message was counted by the node that dropped it
    let cells = cells(
        "drop",
        "--sizes 8,1k --topology routed --congestion drop --subscribers 2",
    );
    for cell in cells.iter().filter(|c| c["system"] == "zonda") {
        assert_eq!(sum(cell, "lost"), sum(cell, "dropped"), "{cell}");
    }
}

fn event(running: &mut Running, name: &str) -> Value {
    let wanted = |line: &str| line.contains(&format!("\"event\":\"{name}\""));
    serde_json::from_str(&running.line_where(wanted)).expect("JSON")
}

fn tell(running: &mut Running, order: &str) {
    let input = running.input.as_mut().expect("it is open");
    writeln!(input, "{order}").expect("it listens");
}

/// Starts a publisher of number 0 and waits until the subscriber has counted some of its messages;
/// returns the publisher, since its last messages may still be on their way, and how many messages
/// it put.
fn publish(subscriber: &mut Running, address: &str) -> (Running, u64) {
    let arguments = ["perf", "thr-pub", "8", "-m", "peer", "-e", address];
    let mut publisher = Running::start(&zonda(), &arguments);
    event(&mut publisher, "ready");
    event(subscriber, "heard");
    tell(&mut publisher, "hush");
    event(&mut publisher, "hushed");
    tell(&mut publisher, "go");
    event(subscriber, "count");
    tell(&mut publisher, "stop");
    let offered = event(&mut publisher, "offered")["offered"].as_u64();
    (publisher, offered.filter(|n| *n > 0).expect("messages"))
}

/// Returns the subscriber's counts once it has waited for `quiet` milliseconds after the last
/// message, or has received `offered` messages.
fn tally(subscriber: &mut Running, quiet: u64, offered: u64) -> Value {
    tell(subscriber, &format!("report {quiet} {offered}"));
    event(subscriber, "tally")["seen"][0].clone()
}

#[test]
fn workers_find_what_goes_wrong() {
    let listen = ["-m", "peer", "-l", "tcp/127.0.0.1:0"];
    let arguments = [&["perf", "thr-sub", "8"], &listen[..]].concat();
    let mut subscriber = Running::start(&zonda(), &arguments);
    let ready = event(&mut subscriber, "ready");
    let address = ready["listening"][0].as_str().expect("an address");
    let (_publisher, offered) = publish(&mut subscriber, address);
    let whole = json!({"next": offered, "missing": 0, "duplicated": 0, "reordered": 0});
    assert_eq!(tally(&mut subscriber, 20_000, offered), whole);
    // as if the last five were lost: it waits for them, in vain
    assert_eq!(tally(&mut subscriber, 100, offered + 5), whole);

    // another publisher with the same number: its messages have been counted before
    let arguments = ["perf", "thr-pub", "8", "-m", "peer", "-e", address];
    let mut second = Running::start(&zonda(), &arguments);
    event(&mut second, "ready");
    tell(&mut second, "hush");
    event(&mut second, "hushed");
    tell(&mut second, "go");
    let until = Instant::now() + DEADLINE;
    while tally(&mut subscriber, 0, 0)["duplicated"] == 0 {
        assert!(Instant::now() < until, "no duplicate was found");
    }
}

#[test]
fn a_list_measures_nothing() {
    let ended = run(
        &zonda(),
        &["perf", "thr", "--list", "--sizes", "8..4k", "--keys", "7"],
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err, "");
    assert!(
        ended.out.contains("routed keys 7 4KiB zonda (1 s)"),
        "{}",
        ended.out
    );
    assert!(
        ended.out.ends_with("16 cells in 5 rounds, about 3 min"),
        "{}",
        ended.out
    );
}

#[test]
fn bad_flags_are_one_line() {
    for (arguments, words) in [
        ("--sizes x", "--sizes"),
        ("--sizes 2G", "at most 1G"),
        ("--sizes 9..8", "goes up"),
        ("--topology star", "p2p or routed"),
        ("--publishers 0", "--publishers"),
        ("--subscribers 100000", "--subscribers"),
        ("--keys 0", "--keys"),
        ("--priority 8", "--priority"),
        ("--congestion maybe", "--congestion"),
        ("--reliability maybe", "--reliability"),
        ("--rounds 51", "--rounds"),
        ("--seconds x", "--seconds"),
        ("--runtime none", "none"),
        ("--with-zenoh /no/such/folder", "/no/such/folder"),
    ] {
        let all: Vec<&str> = "perf thr".split(' ').chain(arguments.split(' ')).collect();
        let ended = run(&zonda(), &all);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.err.starts_with("error: ") && ended.err.contains(words),
            "{ended:?}"
        );
        assert_eq!(
            (ended.err.lines().count(), ended.out.as_str()),
            (1, ""),
            "{ended:?}"
        );
    }
    let ended = run(
        &zonda(),
        &["perf", "thr", "--json", "/no/such/folder/f.json"],
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.err.contains("cannot write /no/such/folder/f.json"),
        "{ended:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_keeps_what_there_is() {
    let folder = Folder::new("thr-early");
    let file = folder.file("thr.json");
    let arguments = ["--sizes", "8", "--topology", "p2p", "--seconds", "0.05"];
    let rounds = ["--rounds", "50", "--json", &file];
    let all = [&["perf", "thr"], &arguments[..], &rounds].concat();
    let mut thr = Running::start(&zonda(), &all);
    let begun = thr.errors.iter().find(|line| line.starts_with("3/100 "));
    assert!(begun.is_some());
    thr.signal("TERM");
    assert_eq!(thr.end().code(), Some(1));
    let text = std::fs::read_to_string(&file).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    assert!(sum(&record["cells"][0], "rate") > 0.0, "{record}");
    let errors: Vec<String> = thr.errors.iter().collect();
    let last = errors.last().map(String::as_str);
    assert_eq!(last, Some("error: interrupted: only a part was measured"));
}
