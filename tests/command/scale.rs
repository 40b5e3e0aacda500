// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf scale`: small numbers for a moment, the file with everything, and refusals. No cost
//! is asserted.

use serde_json::Value;
use zonda_testkit::Folder;

use super::program::{Ended, run, zonda};

fn scale(more: &str) -> Ended {
    let arguments = format!("perf scale {more}");
    let words: Vec<&str> = arguments.split_whitespace().collect();
    run(&zonda(), &words)
}

fn rounds<'a>(cell: &'a Value, metric: &str) -> &'a [Value] {
    let rounds = cell["metrics"][metric]["rounds"].as_array();
    rounds.unwrap_or_else(|| panic!("no {metric} in {cell}"))
}

#[test]
fn both_cases_have_their_figures() {
    let folder = Folder::new("scale");
    let json = folder.file("record.json");
    let ended = scale(&format!(
        "--connections 5 --subscriptions 203 --sessions 4 --rounds 2 --seconds 0.2 --json {json}"
    ));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record = std::fs::read_to_string(&json).expect("the record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    assert_eq!(
        (&record["schema"], &record["tool"]),
        (&1.into(), &"scale".into())
    );
    let cells = record["cells"].as_array().expect("cells");
    let [idle, many] = cells.as_slice() else {
        panic!("two cells: {record}");
    };
    for (cell, count, metrics) in [
        (idle, 5.0, "cpu_idle memory_each cpu_connect_each threads"),
        (
            many,
            203.0,
            "declare_cpu declare_time memory_each route_cpu_one route_cpu_many wildcard_time wildcard_cpu \
             leave_cpu wait_usual wait_leaving memory_after",
        ),
    ] {
        assert_eq!(
            (&cell["system"], &cell["note"]),
            (&"zonda".into(), &Value::Null),
            "{cell}"
        );
        assert_eq!(cell["x"]["value"], count);
        for metric in metrics.split_whitespace() {
            assert_eq!(rounds(cell, metric).len(), 2, "{metric}");
        }
    }
    if cfg!(target_os = "linux") {
        for metric in [
            "declare_time",
            "route_cpu_one",
            "route_cpu_many",
            "wait_usual",
        ] {
            let all = rounds(many, metric).iter();
            assert!(
                all.clone().all(|f| f.as_f64() > Some(0.0)),
                "{metric} {all:?}"
            );
        }
    }
    for words in [
        "| 5 connections ",
        "| 203 subscriptions ",
        "plant/7/line/12/sensor/34",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
}

/// Runs as many clients as the descriptors allow, of which each end of a link needs one; the router
/// keeps some for other uses.
#[cfg(target_os = "linux")]
#[test]
fn thousands_of_tls_clients_take_60_kib_each_at_most() {
    if std::env::var_os("ZONDA_LONG").is_none() {
        println!("SKIPPED: a test of the long run (./check --long, or ZONDA_LONG=1)");
        return;
    }
    let limits = std::fs::read_to_string("/proc/self/limits").expect("limits");
    let files = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let files = files.and_then(|line| line.split_ascii_whitespace().nth(4));
    let descriptors: u32 = files.and_then(|count| count.parse().ok()).unwrap_or(20_000);
    let connections = (descriptors / 2).clamp(100, 10_000);
    let folder = Folder::new("scale-tls");
    let json = folder.file("record.json");
    let ended = scale(&format!(
        "--link tls --connections {connections} --rounds 1 --seconds 0.5 --json {json}"
    ));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record = std::fs::read_to_string(&json).expect("the record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    let each = rounds(&record["cells"][0], "memory_each")[0].as_f64();
    println!("{connections} connections of TLS: {each:?} KiB each");
    assert!(each < Some(60.0), "{each:?}");
}

#[test]
fn a_number_asked_for_stands_alone() {
    let ended = scale("--connections 3 --rounds 1 --seconds 0.05");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("3 connections") && !ended.out.contains("subscriptions"));
}

#[test]
fn wrong_flags_are_one_line_and_exit_code_two() {
    for (arguments, words) in [
        ("--connections 0", "--connections"),
        ("--subscriptions x", "--subscriptions"),
        ("--subscriptions 10 --sessions 11", "--sessions 11"),
        ("--rounds 0", "--rounds"),
        ("--seconds x", "--seconds"),
        ("--with-zenoh /no/such/folder", "zenohd"),
        ("--only routed", "--only"),
    ] {
        let ended = scale(arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let told = ended.err.starts_with("error: ") && ended.err.contains(words);
        assert!(told && ended.err.lines().count() == 1, "{ended:?}");
        assert_eq!(ended.out, "", "{ended:?}");
    }
    let ended = scale("--json /no/such/folder/file");
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.err.contains("/no/such/folder/file"), "{ended:?}");
}

#[cfg(unix)]
#[test]
fn a_router_that_does_not_start_is_a_failure_in_one_line() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new("scale-broken");
    let file = folder.file("zenohd");
    std::fs::write(&file, "#!/bin/sh\necho out of order >&2\nexit 3\n").expect("a script");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&file, executable).expect("permissions");
    let directory = folder.file("");
    let ended = scale(&format!(
        "--connections 1 --rounds 1 --seconds 0.05 --with-zenoh {directory}"
    ));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let last = ended.err.lines().last().unwrap_or_default();
    assert_eq!(
        last, "error: 1 of 2 cells could not be measured",
        "{ended:?}"
    );
    assert!(ended.err.contains("out of order"), "{ended:?}");
    assert_eq!(scale("--runtime nothing").code, Some(2));
}
