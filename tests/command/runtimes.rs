// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf runtimes`: a few cells for a moment, the file with everything, and refusals. No
//! speed is asserted.

use serde_json::Value;
use zonda_testkit::Folder;

use super::program::{Ended, run, zonda};

/// Returns two of the runtimes that are compiled in, or the only one.
fn two() -> Vec<String> {
    let info = run(&zonda(), &["info", "--json"]);
    let info: Value = serde_json::from_str(&info.out).expect("JSON");
    let names = info["runtimes"].as_array().expect("a list").iter();
    let mut names: Vec<String> = names.map(|n| n.as_str().expect("a name").into()).collect();
    // the system may refuse io_uring
    if names.len() > 1 {
        names.retain(|name| name != "uring");
    }
    let mut two = vec![names.remove(0)];
    two.extend(names.pop());
    two
}

fn runtimes(more: &str) -> Ended {
    let arguments = format!("perf runtimes {more}");
    run(&zonda(), &arguments.split(' ').collect::<Vec<_>>())
}

fn figure(value: &Value, path: &str) -> f64 {
    let figure = value.pointer(path).and_then(Value::as_f64);
    figure.unwrap_or_else(|| panic!("no {path} in {value}"))
}

#[test]
fn every_kind_of_cell_has_its_figures() {
    let folder = Folder::new("runtimes");
    let json = folder.file("report.json");
    let two = two();
    // words are separated by blanks, as are the arguments here
    let arguments = format!(
        "perf runtimes --rounds 2 --seconds 0.05 --runtimes {} --json {json}",
        two.join(",")
    );
    let mut arguments: Vec<&str> = arguments.split(' ').collect();
    for only in [
        "--only",
        "throughput 8B routed",
        "--only",
        "64B p2p",
        "--only",
        "routed 1kHz",
    ] {
        arguments.push(only);
    }
    let ended = run(&zonda(), &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = std::fs::read_to_string(&json).expect("the report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let cells = report["cells"].as_array().expect("cells");
    // a runtime has 2 cells behind the router, 4 of round trips and 2 raw ones; bare sockets have 4
    assert_eq!(cells.len(), 8 * two.len() + 4, "{}", ended.err);
    for cell in cells {
        assert!(cell["note"].is_null(), "{cell}");
        let first = |metric: &str| figure(cell, &format!("/metrics/{metric}/rounds/0"));
        assert!(first("rate") > 0.0 && figure(cell, "/metrics/rate/rounds/1") > 0.0);
        let text = |name: &str| cell[name].as_str().unwrap_or_default();
        if text("case").starts_with("ping") {
            assert!(first("p50") > 0.0 && first("p99.9") > 0.0);
            assert_eq!(
                cell["nanos_times"].as_array().map(Vec::len),
                Some(2),
                "{cell}"
            );
        }
        if two.iter().any(|runtime| runtime == text("system")) && cfg!(target_os = "linux") {
            for part in ["sender", "receiver"] {
                assert!(first(&format!("cpu_{part}")) > 0.0);
                assert!(first(&format!("threads_{part}")) >= 2.0);
                assert!(first(&format!("resident_{part}")) > 0.0);
                assert!(first(&format!("sleeps_{part}")) >= 0.0);
            }
        }
    }
    for runtime in &two {
        assert!(
            ended.out.contains(&format!("| {runtime} ")),
            "{}",
            ended.out
        );
    }
    advice_is_careful(&report, two.len());
}

/// Asserts that two rounds are too few for a verdict, whatever they show.
fn advice_is_careful(report: &Value, runtimes: usize) {
    let advice = report["advice"].as_array().expect("advice");
    assert_eq!(advice.is_empty(), runtimes < 2, "{report}");
    for answer in advice {
        let standings = answer["standings"].as_array().expect("standings");
        assert_eq!(standings.len(), runtimes, "{answer}");
        assert!(
            standings.iter().all(|s| s["is_behind"] == false),
            "{answer}"
        );
        assert!(figure(answer, "/rounds_needed") > 2.0);
    }
}

#[test]
fn a_slow_schedule_is_kept_in_either_way_of_receiving() {
    let only = ["--only", "p2p 1kHz"];
    let two = two();
    let name = &two[0];
    let folder = Folder::new("runtimes-slow");
    let json = folder.file("report.json");
    let more = [
        "--rounds",
        "1",
        "--seconds",
        "0.2",
        "--runtimes",
        name,
        "--json",
        &json,
    ];
    let ended = run(
        &zonda(),
        &[&["perf", "runtimes"], &only[..], &more].concat(),
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = std::fs::read_to_string(&json).expect("the report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    for cell in report["cells"].as_array().expect("cells") {
        // never faster than requested; the machine decides how much slower
        assert!(figure(cell, "/metrics/rate/rounds/0") <= 1100.0, "{cell}");
        assert!(
            cell["case"]
                .as_str()
                .is_some_and(|case| case.contains("1kHz")),
            "{cell}"
        );
    }
}

#[test]
fn wrong_flags_are_one_line_and_exit_code_two() {
    for (arguments, words) in [
        ("--rounds 0", "--rounds"),
        ("--rounds 51", "50"),
        ("--seconds x", "--seconds"),
        ("--only nothing", "nothing"),
        ("--runtimes glommio", "compiled in"),
        ("--runtimes", "--runtimes"),
        ("--backend smol", "--backend"),
    ] {
        let ended = runtimes(arguments);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.err.starts_with("error: ") && ended.err.contains(words),
            "{ended:?}"
        );
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
        assert_eq!(ended.out, "", "{ended:?}");
    }
    let ended = runtimes("--json /no/such/folder/file");
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.err.contains("/no/such/folder/file"), "{ended:?}");
}

#[test]
fn the_help_explains_the_words_of_the_tables() {
    let ended = runtimes("--help");
    assert_eq!(ended.code, Some(0));
    for word in [
        "callback",
        "queue",
        "raw",
        "bare",
        "no significant difference",
        "--runtimes",
    ] {
        assert!(ended.out.contains(word), "{word}: {}", ended.out);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_runtime_that_the_system_refuses_is_left_out_with_one_line() {
    let info = run(&zonda(), &["info", "--json"]);
    if !info.out.contains("\"uring\"") {
        return;
    }
    // without a descriptor there is no ring
    let command = "ulimit -n 4; exec \"$0\" perf runtimes --runtimes uring";
    let program = zonda().display().to_string();
    let ended = run(std::path::Path::new("sh"), &["-c", command, &program]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
    let lines: Vec<&str> = ended.err.lines().collect();
    let [note, error] = lines.as_slice() else {
        panic!("two lines: {ended:?}");
    };
    assert!(
        note.starts_with("note: uring is left out: io_uring is not usable"),
        "{note}"
    );
    assert_eq!(*error, "error: no runtime is left to measure");
}
