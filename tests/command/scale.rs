// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf scale`: small numbers for a moment, the file with everything, and refusals. Nothing is said about how
//! little anything costs.

use serde_json::Value;

use super::perf::Folder;
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

#[test]
fn a_router_that_does_not_start_is_a_failure_in_one_line() {
    let ended = scale("--connections 1 --rounds 1 --runtime nothing");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let last = ended.err.lines().last().unwrap_or_default();
    assert_eq!(
        last, "error: 1 of 1 cells could not be measured",
        "{ended:?}"
    );
    assert!(ended.err.contains("nothing"), "{ended:?}");
}
