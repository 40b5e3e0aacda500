// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf lat`: back to back and on a schedule, with a load in addition, with a busy poll; no
//! message is lost, and a stall shows.

use serde_json::Value;
use zonda_testkit::Folder;

use super::program::{Ended, Running, run, zonda};

fn lat(arguments: &[&str]) -> Ended {
    run(&zonda(), &[&["perf", "lat"], arguments].concat())
}

fn rows(ended: &Ended) -> Vec<Vec<String>> {
    let row = |line: &str| line.split('|').map(|c| c.trim().to_owned()).collect();
    let lines = ended.out.lines().filter(|l| l.starts_with('|'));
    lines.map(row).collect()
}

fn record(file: &str) -> Value {
    let text = std::fs::read_to_string(file).expect("the record");
    serde_json::from_str(&text).expect("JSON")
}

fn rounds(cell: &Value, metric: &str) -> Vec<f64> {
    let rounds = cell["metrics"][metric]["rounds"].as_array();
    let rounds = rounds.unwrap_or_else(|| panic!("no {metric}: {cell}"));
    rounds.iter().filter_map(Value::as_f64).collect()
}

#[test]
fn both_loops_fill_their_cells_and_nothing_is_lost() {
    let folder = Folder::new("lat");
    let json = folder.file("lat.json");
    let ended = lat(&[
        "--rounds",
        "2",
        "--seconds",
        "0.1",
        "--warm-up",
        "0.05",
        "--rates",
        "500,max",
        "--sizes",
        "8,64k",
        "--json",
        &json,
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record = record(&json);
    assert_eq!(
        (&record["schema"], &record["tool"]),
        (&1.into(), &"lat".into())
    );
    let cells = record["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 16, "2 topologies, sizes, rates and systems");
    for cell in cells {
        for metric in ["p50", "p90", "p99", "p99.9", "max", "rate"] {
            let rounds = rounds(cell, metric);
            assert_eq!(rounds.len(), 2, "{metric}: {cell}");
            assert!(
                rounds.iter().all(|figure| *figure > 0.0),
                "{metric}: {cell}"
            );
        }
        for metric in ["lost", "duplicated", "reordered"] {
            assert_eq!(rounds(cell, metric), [0.0, 0.0], "{cell}");
        }
        let case = cell["case"].as_str().unwrap_or_default();
        let wanted = cell["x"]["value"].as_f64();
        assert_eq!(wanted.is_none(), case.contains("back to back"), "{cell}");
        let last = &rounds(cell, "p50")[1];
        assert!(rounds(cell, "max")[1] >= *last, "{cell}");
        #[cfg(target_os = "linux")]
        for metric in ["cpu_percent_sender", "cpu_percent_receiver", "cpu_sender"] {
            assert_eq!(rounds(cell, metric).len(), 2, "{metric}: {cell}");
        }
    }
    // header, rule, and a row for each cell
    assert_eq!(rows(&ended).len(), 18, "{}", ended.out);
    assert!(
        ended.err.lines().any(|l| l.starts_with("32/32 ")),
        "{}",
        ended.err
    );
}

fn event(running: &mut Running) -> Value {
    serde_json::from_str(&running.line()).expect("a JSON line")
}

#[test]
fn a_stall_shows_at_its_height_in_all_that_it_held_up() {
    const STALL_MILLIS: u64 = 150;
    let arguments = [
        "perf",
        "lat-pong",
        "-l",
        "tcp/127.0.0.1:0",
        "--stall",
        "0.15",
    ];
    let mut pong = Running::start(&zonda(), &arguments);
    let address = event(&mut pong)["listening"][0].as_str().map(String::from);
    let address = address.expect("an address");
    let arguments = [
        "perf",
        "lat-ping",
        "64",
        "--rate",
        "1000",
        "--seconds",
        "0.5",
    ];
    let more = ["--warm-up", "0", "-m", "peer", "-e", &address];
    let mut ping = Running::start(&zonda(), &[&arguments[..], &more].concat());
    assert_eq!(event(&mut ping)["event"], "ready");
    assert_eq!(event(&mut ping)["event"], "measuring");
    let told = event(&mut ping);
    assert_eq!(
        (&told["event"], &told["lost"]),
        (&"latency".into(), &0.into())
    );
    assert_eq!(
        (&told["planned"], &told["sent"]),
        (&500.into(), &500.into())
    );
    let pairs = told["nanos_times"].as_array().expect("pairs");
    let pairs = pairs
        .iter()
        .map(|p| (p[0].as_u64().unwrap_or(0), p[1].as_u64().unwrap_or(0)));
    let above = |millis: u64| -> u64 {
        let slow = pairs
            .clone()
            .filter(|(nanos, _)| *nanos >= millis * 1_000_000);
        slow.map(|(_, times)| times).sum()
    };
    assert!(above(STALL_MILLIS) >= 1, "{told}");
    // a message a millisecond, each as late as the stall makes it: half of them by half of the
    // stall
    assert!(above(STALL_MILLIS / 2) >= STALL_MILLIS / 2, "{told}");
}

#[test]
fn a_load_stands_beside_its_bound() {
    let folder = Folder::new("lat-load");
    let json = folder.file("lat.json");
    let ended = lat(&[
        "--rounds",
        "1",
        "--seconds",
        "0.3",
        "--rates",
        "200",
        "--topology",
        "p2p",
        "--load",
        "1M",
        "--json",
        &json,
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record = record(&json);
    let cells = record["cells"].as_array().expect("cells");
    let cases: Vec<_> = cells.iter().filter_map(|c| c["case"].as_str()).collect();
    assert_eq!(cases, ["p2p 64B", "p2p 64B", "p2p 64B beside 1MiB"]);
    assert!(rounds(&cells[2], "load")[0] > 1e6, "{record}");
    assert_eq!(rounds(&cells[2], "lost"), [0.0], "{record}");
    let rows = rows(&ended);
    let row = rows.last().expect("a row");
    assert_eq!(
        row[1..3],
        ["p2p 64B beside 1MiB 200/s", "zonda"],
        "{}",
        ended.out
    );
    assert!(
        row[8] == "yes" || row[8].starts_with("no, "),
        "{}",
        ended.out
    );
}

#[cfg(unix)]
#[test]
fn a_busy_poll_stands_beside_none() {
    let ended = lat(&[
        "--rounds",
        "1",
        "--seconds",
        "0.1",
        "--rates",
        "200",
        "--runtime",
        "threads,tokio",
        "--profile",
        "normal,spin",
        "--spin-us",
        "500",
    ]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let rows = rows(&ended);
    let systems: Vec<&str> = rows[2..7].iter().map(|row| row[2].as_str()).collect();
    let expected = [
        "zonda threads",
        "zonda threads spin",
        "zonda tokio",
        "zonda tokio spin",
    ];
    assert_eq!(systems[..4], expected);
    assert_eq!((systems[4], rows.len()), ("bare sockets", 12));
}

#[test]
fn a_runtime_without_a_busy_poll_says_so_once() {
    let arguments = ["info", "--runtime", "smol", "--cfg", "runtime_spin_us:100"];
    let listen = ["-l", "tcp/127.0.0.1:0"];
    let ended = run(&zonda(), &[&arguments[..], &listen].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines = ended.err.lines().filter(|l| l.contains("runtime_spin_us"));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(lines.len(), 1, "{ended:?}");
    assert!(
        lines[0].contains("runtime smol has no busy poll"),
        "{ended:?}"
    );
}

#[cfg(unix)]
#[test]
fn whoever_ends_it_early_keeps_what_there_is() {
    use super::program::DEADLINE;

    let folder = Folder::new("lat-early");
    let json = folder.file("lat.json");
    let arguments = [
        "perf",
        "lat",
        "--rates",
        "max,1",
        "--seconds",
        "0.05",
        "--json",
        &json,
    ];
    let mut running = Running::start(&zonda(), &arguments);
    loop {
        let line = running.errors.recv_timeout(DEADLINE).expect("a line");
        if line.starts_with("1/") {
            break;
        }
    }
    running.signal("TERM");
    assert_eq!(running.end().code(), Some(1));
    let errors: Vec<String> = running.errors.iter().collect();
    let last = errors.last().map(String::as_str);
    assert_eq!(last, Some("error: interrupted: only a part was measured"));
    let record = record(&json);
    assert_eq!(rounds(&record["cells"][0], "p50").len(), 1, "{record}");
    assert_eq!(record["cells"][3]["metrics"], serde_json::json!({}));
}

#[test]
fn the_list_says_what_would_be_measured() {
    let ended = lat(&["--list", "--rates", "1,max", "--topology", "routed"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.out.lines().collect();
    let expected = [
        "routed 64B 1/s zonda (10 s)",
        "routed 64B 1/s bare sockets (10 s)",
        "routed 64B back to back zonda (1 s)",
        "routed 64B back to back bare sockets (1 s)",
    ];
    assert_eq!(lines[..4], expected);
    assert!(
        lines[4].starts_with("4 cells in 5 rounds, about 3 min"),
        "{lines:?}"
    );
}

#[test]
fn wrong_flags_are_bad_usage_in_one_line() {
    for (arguments, words) in [
        (&["--rates", "fast"][..], "max is back to back"),
        (&["--rates", "0"], "0.001 to 100M"),
        (&["--sizes", "4"], "takes 8 bytes"),
        (&["--sizes", "x"], "no size"),
        (&["--topology", "star"], "p2p"),
        (&["--profile", "fast"], "spin"),
        (&["--spin-us", "0"], "1..=10000000"),
        (&["--runtime", "fibers"], "fibers"),
        (&["--load", "0"], "one size"),
        (&["--rounds", "0"], "1..=1000"),
        (&["--with-zenoh", "/nowhere"], "no zenohd there"),
    ] {
        let ended = lat(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
        assert!(ended.err.contains(words), "{arguments:?}: {}", ended.err);
    }
    let nowhere = lat(&["--json", "/nowhere/lat.json"]);
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
}

#[cfg(unix)]
#[test]
fn a_ping_without_a_schedule_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("lat-old");
    for name in ["zenohd", "z_pub_thr", "z_sub_thr", "z_ping", "z_pong"] {
        let file = folder.file(name);
        std::fs::write(&file, "#!/bin/sh\necho 'no flags at all'\n").expect("a script");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, executable).expect("permissions");
    }
    let directory = folder.file("");
    let ended = lat(&["--with-zenoh", &directory]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("z_ping has no --rate"), "{ended:?}");
}
