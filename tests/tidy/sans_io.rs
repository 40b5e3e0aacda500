// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rules for the sans-IO folders: plain functions of (state, input, now). They wait for nothing,
//! open nothing and read no clock, so that a simulator with a virtual clock and a fuzzer can drive
//! the same code as the runtimes do.

use super::imports::{Import, imports};
use super::none;
use super::source::{Source, files, find, sources};

const FOLDERS: [&str; 3] = ["codec/src/", "transport/src/protocol/", "router/table/src/"];

/// Words that are not allowed in these folders.
const TOKENS: [&str; 17] = [
    "async",
    ".await",
    "Instant::now",
    "SystemTime::now",
    "thread::",
    "sleep",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "UnixStream",
    "socket2",
    "rustix",
    "tokio",
    "zonda_runtime",
    "zonda_transport",
    "mio",
    "getrandom",
];

/// Paths that are not allowed in these folders, however they are imported.
const PATHS: [&str; 6] = [
    "std::net",
    "std::thread",
    "std::fs",
    "std::env",
    "std::process",
    "std::os",
];

/// Folder of the forwarding table, and the crates that its product code may import.
const TABLE: (&str, [&str; 3]) = ("router/table/", ["hashbrown", "thiserror", "zonda-codec"]);

/// Folders that a simulation runs unchanged: they use the clock that it sets,
/// `transport/src/clock.rs`.
const SIMULATED: [&str; 2] = ["transport/src/outbox/", "transport/src/driver/"];

/// Functions that read another clock.
const CLOCKS: [&str; 3] = ["Instant::now", "elapsed", "SystemTime"];

fn violations(source: &Source) -> Vec<String> {
    let mut places = Vec::new();
    for token in TOKENS.into_iter().chain(PATHS) {
        places
            .extend(find(&source.product, token).map(|at| format!("{} {token}", source.place(at))));
    }
    for Import { at, path, .. } in imports(&source.product) {
        if PATHS
            .iter()
            .any(|banned| path == *banned || path.starts_with(&format!("{banned}::")))
        {
            places.push(format!("{} {path}", source.place(at)));
        }
    }
    places.sort();
    places.dedup();
    places
}

#[test]
fn sans_io_folders_do_no_io_and_read_no_clock() {
    let mut places = Vec::new();
    for folder in FOLDERS {
        let inside: Vec<_> = sources()
            .iter()
            .filter(|s| s.path.starts_with(folder))
            .collect();
        assert!(
            !inside.is_empty(),
            "{folder} is gone; is the rule still about the right place?"
        );
        places.extend(inside.into_iter().flat_map(violations));
    }
    none(
        "sans-IO code takes `now` and bytes, and returns what to do",
        &places,
    );
}

/// Returns the names of the dependencies of a manifest, those of tests left out.
fn dependencies(manifest: &str) -> Vec<&str> {
    let (_, below) = manifest
        .split_once("\n[dependencies]\n")
        .unwrap_or_default();
    let section = below.split("\n[").next().unwrap_or_default();
    let names = section.lines().filter(|line| !line.starts_with('#'));
    let names = names.filter_map(|line| line.split(['.', ' ', '=']).next());
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn the_table_imports_the_codec_only() {
    let (folder, allowed) = TABLE;
    let manifest = format!("{folder}Cargo.toml");
    let manifest = files().iter().find(|file| file.path == manifest);
    let manifest = &manifest.expect("the manifest of the table").text;
    assert_eq!(dependencies(manifest), allowed);
    // A dependency for one system would stand in a section of its own.
    assert!(!manifest.contains("dependencies]\n") || !manifest.contains("[target."));
    let text =
        "[dev-dependencies]\na = 1\n\n[dependencies]\n# b\nc.workspace = true\nd = 1\n\n[e]\nf = 1";
    assert_eq!(dependencies(text), ["c", "d"]);
}

#[test]
fn what_is_simulated_goes_by_the_clock_of_the_simulation() {
    let inside = |source: &&Source| {
        let mut folders = SIMULATED.iter();
        folders.any(|folder| source.path.starts_with(folder))
    };
    let read = |source: &Source| {
        let clocks = CLOCKS.iter().flat_map(|clock| find(&source.product, clock));
        clocks.map(|at| source.place(at)).collect::<Vec<_>>()
    };
    let places: Vec<_> = sources().iter().filter(inside).flat_map(read).collect();
    none("an outbox and a driver ask `clock::now`", &places);
}

#[test]
fn the_rule_sees_what_it_forbids_and_only_that() {
    for bad in [
        "async fn a() {}",
        "fn a() { b.await }",
        "fn a() { let t = std::time::Instant::now(); }",
        "use std::{\n    net::{IpAddr, TcpStream},\n    time::Duration,\n};",
        "use std::thread;",
        "fn a() { std::thread::spawn(b); }",
        "fn a() { sleep(d) }",
    ] {
        assert!(
            !violations(&Source::new("codec/src/x.rs", bad)).is_empty(),
            "{bad}"
        );
    }
    for good in [
        "// async .await sleep\n/// Instant::now\nfn a(now: Instant) {}",
        "const A: &str = \"thread::sleep std::net\";",
        "#[cfg(test)]\nmod tests { fn a() { Instant::now(); } }",
        "fn asynchronous(net: u8) {}",
    ] {
        assert_eq!(
            violations(&Source::new("codec/src/x.rs", good)),
            [""; 0],
            "{good}"
        );
    }
}
