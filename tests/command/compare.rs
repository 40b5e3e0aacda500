// SPDX-License-Identifier: MIT OR Apache-2.0
//! `zonda perf compare`: equal records, worse ones, and records that cannot be compared.

use serde_json::{Value, json};
use zonda_testkit::Folder;

use super::program::{Ended, run, zonda};

/// Returns a record of eight rounds around a rate.
fn record(rate: f64) -> Value {
    let around = |middle: f64| -> Vec<f64> {
        let rounds = (0..8).map(|round| middle * (1.0 + f64::from(round) / 1000.0));
        rounds.collect()
    };
    json!({
        "schema": 1,
        "tool": "thr",
        "taken_at": "2026-01-31T12:00:00Z",
        "machine": {"cpu": "one", "cores": 2, "kernel": "6", "arch": "x86_64", "load_average": [rate]},
        "build": {"version": "0.1.0", "profile": "release", "debug_assertions": false},
        "settings": {"rounds": 8, "seconds": 1.0},
        "cells": [{
            "system": "zonda",
            "case": "p2p",
            "x": {"name": "size", "unit": "B", "value": 8.0},
            "metrics": {
                "rate": {"unit": "msg/s", "better": "higher", "rounds": around(rate)},
                "cpu_sender": {"unit": "ns/msg", "better": "lower", "rounds": around(40.0)},
            },
            "note": null,
        }],
    })
}

fn compare(name: &str, before: &Value, after: &Value, more: &[&str]) -> Ended {
    let folder = Folder::new(&format!("compare-{name}"));
    let files = [folder.file("a.json"), folder.file("b.json")];
    for (file, record) in files.iter().zip([before, after]) {
        std::fs::write(file, record.to_string()).expect("a writable folder");
    }
    let arguments = [&["perf", "compare", &files[0], &files[1]], more].concat();
    run(&zonda(), &arguments)
}

#[test]
fn equal_records_have_no_difference() {
    let ended = compare("equal", &record(1e6), &record(1e6), &[]);
    assert_eq!(
        (ended.code, ended.out.contains('|')),
        (Some(0), false),
        "{ended:?}"
    );
    let ended = compare("equal", &record(1e6), &record(1e6), &["--all"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    assert!(
        ended.out.contains("no difference: none of 2 figures"),
        "{}",
        ended.out
    );
    assert_eq!(ended.out.lines().filter(|l| l.starts_with('|')).count(), 4);
}

#[test]
fn what_is_worse_fails() {
    let (fast, slow) = (record(1e6), record(9e5));
    let ended = compare("worse", &fast, &slow, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.out.contains("-10.0 %") && ended.out.contains("WORSE"),
        "{}",
        ended.out
    );
    assert_eq!(ended.err, "error: 1 figure is worse");
    let ended = compare("better", &slow, &fast, &["--changes"]);
    assert_eq!(ended.code, Some(0), "a flag of earlier versions: {ended:?}");
    let ended = compare("better", &slow, &fast, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.out.contains("1 are better and 0 are worse"),
        "{}",
        ended.out
    );
    assert_eq!(ended.out.lines().filter(|l| l.starts_with('|')).count(), 3);
    // not requested
    let ended = compare("unasked", &fast, &slow, &["--metrics", "cpu_sender"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reasons() {
    let mut other = record(1e6);
    other["machine"]["kernel"] = "7".into();
    other["settings"]["seconds"] = 2.0.into();
    let ended = compare("refused", &record(1e6), &other, &[]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(1), ""), "{ended:?}");
    for words in [
        "machine kernel is \"6\" and \"7\"",
        "setting seconds is 1.0 and 2.0",
        "--force",
    ] {
        assert!(ended.err.contains(words), "{ended:?}");
    }
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    let ended = compare("forced", &record(1e6), &other, &["--force"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .err
            .starts_with("note: these records cannot be compared"),
        "{ended:?}"
    );

    other = record(1e6);
    other["schema"] = 2.into();
    let ended = compare("schema", &record(1e6), &other, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.err.contains("has schema 2, this program reads 1"),
        "{ended:?}"
    );
}

#[test]
fn bad_usage_is_one_line() {
    let folder = Folder::new("compare-usage");
    let file = folder.file("a.json");
    std::fs::write(&file, record(1.0).to_string()).expect("a writable folder");
    for (arguments, words) in [
        (&[file.as_str()][..], "B.json"),
        (&[&file, "/no/such/file"], "/no/such/file"),
        (&[&file, &file, "--level", "2"], "--level"),
    ] {
        let ended = run(&zonda(), &[&["perf", "compare"], arguments].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.err.starts_with("error: ") && ended.err.contains(words),
            "{ended:?}"
        );
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    }
    let ended = run(
        &zonda(),
        &["perf", "compare", &file, &file, "--only", "nothing"],
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("nothing in common"), "{ended:?}");
}
