// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `zonda perf`: the workers' protocol, and the whole table in a short time.

use serde_json::Value;
use zonda_testkit::Folder;

use super::program::{Ended, Running, run, zonda};

fn event(running: &mut Running) -> Value {
    serde_json::from_str(&running.line()).expect("a JSON line")
}

fn address(ready: &Value) -> String {
    assert_eq!(ready["event"], "ready", "{ready}");
    ready["listening"][0]
        .as_str()
        .expect("an address")
        .to_owned()
}

/// Starts the receiver of `kind`, then its sender; returns both.
fn pair(receiver: &[&str], sender: &[&str], connect: &[&str]) -> (Running, Running) {
    let mut receiver = Running::start(&zonda(), &[&["perf"], receiver].concat());
    let address = address(&event(&mut receiver));
    let connect: Vec<&str> = connect
        .iter()
        .map(|a| if *a == "?" { &address } else { *a })
        .collect();
    let sender = Running::start(&zonda(), &[&["perf"], sender, &connect].concat());
    (receiver, sender)
}

#[test]
fn subscribers_count() {
    let arguments = ["bare-sub", "100", "--listen", "127.0.0.1:0"];
    let (mut sub, _pub) = pair(&arguments, &["bare-pub", "100"], &["--connect", "?"]);
    let (first, second) = (event(&mut sub), event(&mut sub));
    for name in ["messages", "nanos"] {
        let (first, second) = (first[name].as_u64(), second[name].as_u64());
        assert!(first.is_some_and(|n| n > 0) && second >= first, "{name}");
    }
}

#[test]
fn pings_hand_over_their_latencies() {
    let short = ["--seconds", "0.05", "--warm-up", "0.01"];
    let bare = [&["lat-bare-ping", "64"], &short[..]].concat();
    let ping = [&["lat-ping", "64"], &short[..]].concat();
    let node = ["-m", "peer", "-e", "?"];
    let bare_pong = ["bare-pong", "--listen", "127.0.0.1:0"];
    let pong = ["lat-pong", "-l", "tcp/127.0.0.1:0"];
    for (receiver, sender, connect, more) in [
        (&bare_pong[..], &bare, &["--connect", "?"][..], &[][..]),
        (
            &bare_pong,
            &bare,
            &["--connect", "?"],
            &["--interval", "0.001"],
        ),
        (&pong, &ping, &node, &[]),
        (&pong, &ping, &node, &["--queue"]),
        (&pong, &ping, &node, &["--interval", "0.001"]),
        (&pong, &ping, &node, &["--queue", "--interval", "0.001"]),
    ] {
        let sender = [sender, more].concat();
        let (_pong, mut ping) = pair(receiver, &sender, connect);
        assert_eq!(event(&mut ping)["event"], "ready");
        assert_eq!(event(&mut ping)["event"], "measuring");
        let result = event(&mut ping);
        let seconds = result["seconds"].as_f64();
        assert!(seconds.is_some_and(|s| s >= 0.05), "{result}");
        for fault in ["lost", "duplicated", "reordered"] {
            assert_eq!(result[fault], 0, "{result}");
        }
        let pairs = result["nanos_times"].as_array().expect("pairs");
        assert!(!pairs.is_empty());
        let nanos = pairs.iter().map(|p| p[0].as_u64().expect("nanoseconds"));
        assert!(nanos.is_sorted());
    }
}

#[test]
fn workers_end_with_their_input() {
    for worker in [
        &["bare-relay", "127.0.0.1:0"][..],
        &["router", "-l", "tcp/127.0.0.1:0"],
        &["thr-sub", "8", "-l", "tcp/127.0.0.1:0"],
        &["lat-pong", "-l", "tcp/127.0.0.1:0"],
    ] {
        let mut running = Running::start(&zonda(), &[&["perf"], worker].concat());
        let _ = address(&event(&mut running));
        drop(running.input.take());
        assert_eq!(running.end().code(), Some(0), "{worker:?}");
    }
}

#[test]
fn no_worker_is_in_the_help() {
    let ended = run(&zonda(), &["perf", "--help"]);
    for name in ["Worker", "lat-ping", "thr-pub", "bare-"] {
        assert!(!ended.out.contains(name), "{name}: {}", ended.out);
    }
}

fn rows(ended: &Ended) -> Vec<Vec<String>> {
    let row = |line: &str| {
        line.split('|')
            .map(|c| c.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let is_head = |l: &&str| {
        ["| throughput ", "| round trip ", "|--"]
            .iter()
            .any(|h| l.starts_with(h))
    };
    let lines = ended.out.lines().filter(|l| l.starts_with('|'));
    lines.filter(|l| !is_head(l)).map(row).collect()
}

#[test]
fn quick_fills_every_cell() {
    let folder = Folder::new("quick");
    let json = folder.file("report.json");
    let arguments = [
        "perf",
        "quick",
        "--rounds",
        "1",
        "--seconds",
        "0.05",
        "--json",
        &json,
    ];
    let ended = run(&zonda(), &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let rows = rows(&ended);
    assert_eq!(rows.len(), 20, "{}", ended.out);
    for row in &rows {
        assert!(row[3] != "-", "no rate: {row:?}");
    }
    let report = std::fs::read_to_string(&json).expect("the report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["cells"].as_array().map(Vec::len), Some(20));
    for path in [
        "/machine/cores",
        "/machine/os",
        "/build/rustc",
        "/build/version",
        "/settings/seconds",
        "/settings/link",
        "/command/0",
    ] {
        assert!(report.pointer(path).is_some_and(|v| !v.is_null()), "{path}");
    }
    for cell in report["cells"].as_array().into_iter().flatten() {
        let rate = cell["metrics"]["rate"]["rounds"][0].as_f64();
        assert!(rate.is_some_and(|r| r > 0.0), "{cell}");
        let is_ping = cell["case"]
            .as_str()
            .is_some_and(|case| case.starts_with("ping"));
        let (kept, other) = match is_ping {
            true => ("nanos_times", "messages_at_nanos"),
            false => ("messages_at_nanos", "nanos_times"),
        };
        assert_eq!(cell[kept].as_array().map(Vec::len), Some(1), "{cell}");
        assert!(cell[other].is_null(), "{cell}");
    }
    // standard error is no terminal here: one plain line per step
    assert!(
        ended.err.lines().any(|l| l.starts_with("20/20 ")),
        "{}",
        ended.err
    );
}

/// `zonda perf quick --json | jq`: standard output has the record only.
#[test]
fn the_record_goes_to_standard_output_if_no_file_is_named() {
    let cell = ["perf", "quick", "--only", "p2p 1KiB bare"];
    let short = ["--rounds", "1", "--seconds", "0.02", "--json"];
    let ended = run(&zonda(), &[&cell[..], &short].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record: Value = serde_json::from_str(&ended.out).expect("a record");
    assert_eq!(record["cells"].as_array().map(Vec::len), Some(1));
    assert!(ended.err.contains("| 1KiB p2p"), "{}", ended.err);
    assert!(
        ended.err.contains("1 cell in 1 round, about 1 s"),
        "{}",
        ended.err
    );
}

#[cfg(unix)]
#[test]
fn a_cell_that_cannot_run_says_why_and_the_table_goes_on() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("broken");
    for name in ["zenohd", "z_pub_thr", "z_sub_thr", "z_ping", "z_pong"] {
        let file = folder.file(name);
        std::fs::write(&file, "#!/bin/sh\necho out of order >&2\nexit 3\n").expect("a script");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, executable).expect("permissions");
    }
    let directory = folder.path().display().to_string();
    let ended = run(
        &zonda(),
        &[
            "perf",
            "quick",
            "--rounds",
            "2",
            "--seconds",
            "0.05",
            "--only",
            "p2p 8B bare",
            "--only",
            "p2p 8B zenoh",
            "--with-zenoh",
            &directory,
        ],
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let rows = rows(&ended);
    assert_eq!(rows.len(), 2, "{}", ended.out);
    assert!(rows[0][3] != "-" && rows[1][3] == "-", "{}", ended.out);
    assert!(
        ended
            .err
            .contains("zenoh sub ended early (exit status: 3): out of order"),
        "{ended:?}"
    );
    assert!(
        ended
            .err
            .contains("error: 1 of 2 cells could not be measured"),
        "{ended:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_leaves_no_process_behind() {
    let arguments = ["perf", "quick", "--only", "p2p 8B bare", "--seconds", "600"];
    let mut quick = Running::start(&zonda(), &arguments);
    let start = std::time::Instant::now();
    let children = loop {
        let children = children_of(quick.pid());
        if children.len() == 2 {
            break children;
        }
        assert!(
            start.elapsed() < super::program::DEADLINE,
            "no workers came up"
        );
        std::thread::yield_now();
    };
    quick.signal("TERM");
    assert_eq!(quick.end().code(), Some(1));
    for child in children {
        let gone = !std::path::Path::new(&format!("/proc/{child}")).exists();
        assert!(gone, "worker {child} is still there");
    }
    let errors: Vec<String> = quick.errors.iter().collect();
    assert!(
        errors.contains(&"error: interrupted: only a part was measured".to_owned()),
        "{errors:?}"
    );
}

#[cfg(target_os = "linux")]
fn children_of(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let files = tasks.flatten().map(|t| t.path().join("children"));
    let texts = files.filter_map(|f| std::fs::read_to_string(f).ok());
    texts
        .flat_map(|t| {
            t.split_whitespace()
                .filter_map(|p| p.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}
