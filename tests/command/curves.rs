// SPDX-License-Identifier: MIT OR Apache-2.0
//! The node's own examples, `zonda perf curves` and `zonda perf plot`: a few cells for a moment,
//! the files they leave, refusals. No speed is asserted.

use serde_json::{Value, json};
use zonda_testkit::Folder;

use super::examples::{check_sample, free_address, is_rate, router};
use super::program::{DEADLINE, Running, example, run, zonda};

#[test]
fn the_nodes_examples_count_what_each_other_and_the_sessions_publish() {
    for (subscriber, publisher) in [("net_sub_thr", "net_pub_thr"), ("net_sub_thr", "pub_thr")] {
        let address = free_address();
        let listen = ["-m", "peer", "-l", &address, "--no-multicast-scouting"];
        let rounds = ["-s", "2", "-n", "300"];
        let mut sub = Running::start(&example(subscriber), &[&listen[..], &rounds].concat());
        let connect = ["8", "-e", &address, "--no-multicast-scouting", "-t"];
        let rounds = ["-n", "500", "-p", "3"];
        let mut publisher = Running::start(&example(publisher), &[&connect[..], &rounds].concat());
        for _ in 0..2 {
            let line = sub.line();
            assert!(is_rate(&line), "{line}");
        }
        assert_eq!(sub.end().code(), Some(0));
        assert!(is_rate(&publisher.line()));
    }
}

#[test]
fn the_nodes_examples_go_round_with_each_other_and_with_the_sessions() {
    let (_router, address) = router();
    for (pong, ping) in [("net_pong", "net_ping"), ("pong", "net_ping")] {
        let client = ["-m", "client", "-e", &address, "--no-multicast-scouting"];
        let _pong = Running::start(&example(pong), &client);
        let arguments = [&["64", "-n", "10", "-w", "0.01"], &client[..]].concat();
        let ended = run(&example(ping), &arguments);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
        let lines: Vec<&str> = ended.out.lines().collect();
        assert_eq!(lines.len(), 11, "{lines:?}");
        for (seq, line) in lines[..10].iter().enumerate() {
            check_sample(line, seq);
        }
        assert!(lines[10].contains(" p99.9="), "{}", lines[10]);
    }
}

#[cfg(unix)]
#[test]
fn the_nodes_examples_end_at_ctrl_c() {
    let (_router, address) = router();
    let client = ["-m", "client", "-e", &address, "--no-multicast-scouting"];
    let endless = ["-n", "200", "-s", "1000000000"];
    let mut sub = Running::start(&example("net_sub_thr"), &[&client[..], &endless].concat());
    let arguments = [&["16", "--express"], &client[..]].concat();
    let mut publisher = Running::start(&example("net_pub_thr"), &arguments);
    let mut pong = Running::start(&example("net_pong"), &client);
    assert!(is_rate(&sub.line()));
    // A program that has answered listens for the signal.
    let ping = [&["64", "-n", "1", "-w", "0.01"], &client[..]].concat();
    assert_eq!(run(&example("net_ping"), &ping).code, Some(0));
    for program in [&mut publisher, &mut sub, &mut pong] {
        program.signal("INT");
        assert_eq!(program.end().code(), Some(0));
    }
}

/// Returns a record of one system at two sizes, written by hand.
fn record() -> Value {
    let cell = |size: u32, rate: f64| {
        json!({
            "system": "zonda", "case": "p2p", "x": {"name": "size", "unit": "B", "value": size},
            "metrics": {"rate": {"unit": "msg/s", "better": "higher", "rounds": [rate, rate * 1.1]}}, "note": null
        })
    };
    json!({
        "schema": 1, "tool": "thr", "taken_at": "2026-01-31T12:00:00Z", "machine": {"cores": 2}, "build": {},
        "settings": {"rounds": 2}, "cells": [cell(8, 2e7), cell(1024, 2e6)]
    })
}

#[test]
fn a_record_is_drawn_again() {
    let folder = Folder::new("plot");
    let (file, page) = (folder.file("a.json"), folder.file("b.html"));
    std::fs::write(&file, record().to_string()).expect("written");
    let ended = run(&zonda(), &["perf", "plot", &file]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.ends_with("a.html"), "{}", ended.out);
    let ended = run(&zonda(), &["perf", "plot", &file, "-o", &page]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let html = std::fs::read_to_string(&page).expect("the page");
    assert_eq!(html.matches("<svg").count(), 2, "messages and bits");
    assert!(html.contains("zonda p2p size 1024 B"), "{html}");
    let figures = folder.file("figures");
    let ended = run(&zonda(), &["perf", "plot", &file, "--svg", &figures]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let written = std::fs::read_dir(&figures).expect("the folder");
    let files: Vec<_> = written.map(|file| file.expect("a file").path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a figure");
        roxmltree::Document::parse(&text).expect("well-formed XML");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_in_one_line() {
    let folder = Folder::new("plot-refused");
    let file = folder.file("a.json");
    let mut without = record();
    without["cells"] = json!([]);
    for (text, words) in [
        ("{}".to_owned(), "no record"),
        (without.to_string(), "no figures"),
        (
            record()
                .to_string()
                .replace("\"schema\":1", "\"schema\":99"),
            "schema 99",
        ),
    ] {
        std::fs::write(&file, text).expect("written");
        let ended = run(&zonda(), &["perf", "plot", &file]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended.err.contains(words) && ended.err.lines().count() == 1,
            "{}",
            ended.err
        );
    }
    let ended = run(&zonda(), &["perf", "plot"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn a_few_points_make_a_record_and_a_page() {
    let folder = Folder::new("curves");
    let out = folder.file("out");
    let flags = "perf curves --quick --sizes 8,1k --rates 1k,max --rounds 1 --seconds 0.05 --out";
    let arguments: Vec<&str> = flags.split(' ').chain([out.as_str()]).collect();
    let ended = run(&zonda(), &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = std::fs::read_to_string(format!("{out}/curves.json")).expect("the record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let cells = record["cells"].as_array().expect("cells");
    // two sizes and two rates, two ways, by session, by node and by bare sockets
    assert_eq!(cells.len(), (2 + 2) * 2 * 3, "{text}");
    for cell in cells {
        let figures = &cell["metrics"]["rate"]["rounds"];
        assert!(figures[0].as_f64().is_some_and(|rate| rate > 0.0), "{cell}");
        assert!(cell["note"].is_null(), "{cell}");
    }
    let page = std::fs::read_to_string(format!("{out}/curves.html")).expect("the page");
    for part in [
        "Throughput, peer to peer by size",
        "Round trip, through a router, 64 B by rate",
        "data-system=\"node\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for system in ["zonda", "node", "bare sockets"] {
        assert!(ended.out.contains(system), "{}", ended.out);
    }
}

#[test]
fn what_would_be_measured_is_listed_and_nothing_is_written() {
    let ended = run(&zonda(), &["perf", "curves", "--list"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines.len(), (10 + 8) * 2 * 3 + 1);
    assert!(
        lines[lines.len() - 1].contains(" rounds, about "),
        "{}",
        ended.out
    );
    assert!(!std::path::Path::new("zonda-curves").exists());
}

#[test]
fn curves_refuse_in_one_line() {
    for (flags, words) in [
        ("--sizes 0..8", "empty"),
        ("--rates often", "rate"),
        ("--rounds 0", "--rounds"),
        ("--topology ring", "p2p"),
        ("--with-zenoh /nowhere", "no zenohd"),
    ] {
        let arguments = format!("perf curves {flags}");
        let ended = run(&zonda(), &arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.err.contains(words) && ended.err.lines().count() == 1,
            "{}",
            ended.err
        );
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_points_that_were_measured() {
    let folder = Folder::new("curves-early");
    let out = folder.file("out");
    let flags =
        "perf curves --sizes 8 --rates max --rounds 1000 --seconds 0.05 --topology p2p --out";
    let arguments: Vec<&str> = flags.split(' ').chain([out.as_str()]).collect();
    let mut curves = Running::start(&zonda(), &arguments);
    let start = std::time::Instant::now();
    let is_step = |line: &str| line.starts_with("2/");
    while !curves
        .errors
        .recv_timeout(DEADLINE)
        .is_ok_and(|line| is_step(&line))
    {
        assert!(start.elapsed() < DEADLINE, "no second step");
    }
    curves.signal("INT");
    assert_eq!(curves.end().code(), Some(1));
    let text = std::fs::read_to_string(format!("{out}/curves.json")).expect("the record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let measured = |cell: &&Value| cell["metrics"]["rate"]["rounds"][0].is_number();
    let cells = record["cells"].as_array().expect("cells");
    assert!(cells.iter().filter(measured).count() >= 2, "{text}");
    // a record is compared with itself, and nothing has changed
    let file = format!("{out}/curves.json");
    let ended = run(&zonda(), &["perf", "compare", &file, &file]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
